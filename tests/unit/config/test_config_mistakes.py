"""Every kind of mistake, one at a time, then all at once: each names the key, the value, what is wrong, the remedy."""

import os
from pathlib import Path

import pytest

from proxy.config.loading import load, parse
from proxy.config.mistakes import ConfigError, Mistake
from tests.unit.config.contract import EAST, NOWHERE, WEST, site_of
from tests.unit.config.mistakes import one_mistake
from tests.unit.config.texts import EXPORT, FORWARD, NORTH


def change(old: str, new: str) -> str:
    assert EAST.count(old) == 1, f"{old!r} has to occur once"
    return EAST.replace(old, new)


def mistakes_in(text: str) -> tuple[Mistake, ...]:
    """Also in the files that it names."""
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), NOWHERE)
    return caught.value.mistakes


PEERS = "".join(f'[[peer]]\nname = "p{n}"\naddress = "198.18.1.{n}:1"\ncertificate = "{n}.crt"\n' for n in range(16))
"""Sixteen more than EAST has."""

ONE = [
    # id, the text, key, what is wrong, remedy
    ("unknown section", EAST + "[tunel]\n", "tunel", "not a known key", 'did you mean "tunnel"?'),
    ("plural section", EAST + "[[peers]]\n", "peers", "not a known key", 'did you mean "peer"?'),
    ("unknown key", change("[site]", "[site]\nnmae = 1"), "site.nmae", "not a known key", 'did you mean "name"?'),
    ("no such key", change("[site]", "[site]\nzzz = 1"), "site.zzz", "not a known key", "known here: name"),
    ("in a table", EAST + 'adress = "x"\n', "forward[0].adress", "not a known key", "known here: name, listen"),
    ("key of another table", EAST + 'rate = "5Mbit"\n', "forward[0].rate", "not a known key", "guarantee, maximum"),
    ("missing key", change('name = "east"', ""), "site.name", "is missing", 'add name = "east" to [site]'),
    (
        "missing key of a table",
        change('export = "array"', ""),
        "forward[0].export",
        "is missing",
        'add export = "array" to that [[forward]]',
    ),
    ("section is text", 'log = "info"\n' + EAST, "log", "not a section", "write it as [log]"),
    ("section is a list", EAST + "[[log]]\n", "log", "not a section", "write it as [log]"),
    ("table in single brackets", EAST + '[export]\nname = "x"\n', "export", "not a list of tables", "[[export]]"),
    ("peer in single brackets", change("[[peer]]", "[peer]"), "peer", "not a list of tables", "[[peer]]"),
    ("table is a number", "export = [1]\n" + EAST, "export[0]", "not a table", "[[export]]"),
    ("size without unit", change('"2GiB"', '"2"'), "store.size", "is not a size", "KiB"),
    ("size as number", change('"2GiB"', "2147483648"), "store.size", "not text in quotes", '"10GiB"'),
    ("rate for a size", change('"2GiB"', '"45Mbit"'), "store.size", 'unit "Mbit" is unknown', "MiB"),
    ("wrong case", change('"2GiB"', '"2gib"'), "store.size", 'unit "gib" is unknown', "GiB"),
    ("negative size", change('"2GiB"', '"-2GiB"'), "store.size", "is not a size", '"10GiB"'),
    ("part of a byte", change('"2GiB"', '"0.3B"'), "store.size", "not a whole number of bytes", '"10GiB"'),
    ("store too small", change('"2GiB"', '"63MiB"'), "store.size", "is too small", 'at least "64MiB"'),
    ("store too large", change('"2GiB"', '"2000TiB"'), "store.size", "is too large", 'at most "1024TiB"'),
    ("beyond measure", change('"2GiB"', '"999999999TiB"'), "store.size", "is too large", "write a number"),
    (
        "duration without unit",
        change("[tunnel]", '[tunnel]\ngrace = "5"'),
        "tunnel.grace",
        "is not a duration",
        '"30s"',
    ),
    ("size for a duration", change("[tunnel]", '[tunnel]\ngrace = "5MB"'), "tunnel.grace", 'unit "MB"', "ms, s, m"),
    ("too fine", change("[tunnel]", '[tunnel]\ngrace = "0.1ms"'), "tunnel.grace", "finer than a millisecond", "ms"),
    (
        "address without port",
        change('"198.18.0.2:4500"', '"198.18.0.2"'),
        "peer[0].address",
        "host and a port",
        ":4500",
    ),
    ("port 0", change("198.18.0.2:4500", "198.18.0.2:0"), "peer[0].address", "no port between 1 and 65535", ":4500"),
    ("port 70000", change("198.18.0.2:4500", "198.18.0.2:70000"), "peer[0].address", "no port between", ":4500"),
    ("all IPv4", change("198.18.0.2:4500", "0.0.0.0:4500"), "peer[0].address", "dialled by nobody", "198.18.0.1:4500"),
    ("all IPv6", change("198.18.0.2:4500", "[::]:4500"), "peer[0].address", "dialled by nobody", "[2001:db8::1]:4500"),
    ("bare IPv6", change("198.18.0.2:4500", "::1:4500"), "peer[0].address", "without brackets", "[2001:db8::1]:4500"),
    ("broken IPv6", change("198.18.0.2:4500", "[::g]:4500"), "peer[0].address", "no IPv6 address", "[2001:db8::1]"),
    ("broken IPv4", change("198.18.0.2:4500", "198.18.0.256:4500"), "peer[0].address", "no valid host", "198.18.0.1"),
    ("broken name", change("198.18.0.2:4500", "a b:4500"), "peer[0].address", "no valid host", "host.example"),
    ("listen at a name", change("127.0.0.1:3260", "host:3260"), "forward[0].listen", "not an IP address", "0.0.0.0"),
    ("name with a space", change('"replication"', '"re pl"'), "forward[0].name", "is not a name", "letters"),
    ("name too long", change('"replication"', f'"{"x" * 64}"'), "forward[0].name", "is not a name", "1 to 63"),
    ("name ends with a dot", change('"replication"', '"a."'), "forward[0].name", "is not a name", "no dot is last"),
    ("name with two dots", change('"replication"', '"wes..t"'), "forward[0].name", "is not a name", "beside another"),
    ("name is a number", change('"replication"', "7"), "forward[0].name", "not text in quotes", "letters"),
    ("empty path", change('"east.crt"', '""'), "identity.certificate", "is not a path", "absolute or relative"),
    (
        "history is the key",
        change("[status]", '[status]\nhistory = "./east.key"'),
        "status.history",
        "names the same file as identity.key",
        "name one of its own",
    ),
    (
        "history is this file",
        change("[status]", '[status]\nhistory = "site.toml"'),
        "status.history",
        "names this file itself",
        "name one of its own",
    ),
    ("path with NUL", change('"east.crt"', r'"a\u0000b"'), "identity.certificate", "is not a path", "absolute"),
    ("path is a list", change('"east.crt"', "[]"), "identity.certificate", "not text in quotes", "absolute"),
    ("unknown mode", change('"memory"', '"disc"'), "store.mode", "not one of the possible", "'memory' or 'disk'"),
    ("unknown protocol", EAST + 'protocol = "udp"\n', "forward[0].protocol", "not one of the possible", "'auto'"),
    ("level too high", EAST + "[compression]\nlevel = 20\n", "compression.level", "is too large", "at most 19"),
    ("level too low", EAST + "[compression]\nlevel = -6\n", "compression.level", "is too small", "at least -5"),
    ("level as text", EAST + '[compression]\nlevel = "3"\n', "compression.level", "not a whole number", "quotes"),
    ("level as truth", EAST + "[compression]\nlevel = true\n", "compression.level", "not a whole number", "quotes"),
    ("level as date", EAST + "[compression]\nlevel = 2020-01-01\n", "compression.level", "not a whole", "quotes"),
    ("level is nan", EAST + "[compression]\nlevel = nan\n", "compression.level", "not a whole number", "quotes"),
    ("no peers named", EAST + EXPORT.replace('["west"]', "[]"), "export[0].peers", "is empty", "at least one"),
    ("peers as text", EAST + EXPORT.replace('["west"]', '"west"'), "export[0].peers", "not a list", "square brackets"),
    ("disk without path", change('"memory"', '"disk"'), "store.path", "is missing, but mode is disk", 'path = "store"'),
    (
        "path without mode",
        change('mode = "memory"', 'path = "store"'),
        "store.mode",
        "is missing, but a path is given",
        'mode = "disk"',
    ),
    (
        "status for all",
        change('"127.0.0.1:8900"', '"0.0.0.0:8900"'),
        "status.listen",
        "not a loopback",
        "127.0.0.1:8900",
    ),
    ("status for all, v6", change('"127.0.0.1:8900"', '"[::]:8900"'), "status.listen", "not a loopback", "[::1]:8900"),
    (
        "own forward dialled",
        change('address = "198.18.0.2:4500"', 'address = "127.0.0.1:3260"'),
        "peer[0].address",
        "is forward[0].listen of this site itself",
        "the other site's tunnel.listen",
    ),
    (
        "own status listener dialled",
        change('address = "198.18.0.2:4500"', 'address = "127.0.0.1:8900"'),
        "peer[0].address",
        "is status.listen of this site itself",
        "the other site's tunnel.listen",
    ),
    (
        "forward to nobody",
        change('peer = "west"', 'peer = "wset"'),
        "forward[0].peer",
        "not the name of a peer",
        '"west"',
    ),
    ("export to a number", EAST + EXPORT.replace('"west"', "1"), "export[0].peers[0]", "not text in quotes", "letters"),
    ("export to nobody", EAST + EXPORT.replace("west", "w"), "export[0].peers[0]", "not the name of a peer", "west"),
    ("same forward twice", EAST + FORWARD.replace("two", "Replication"), "forward[1].name", "forward[0]", "own name"),
    ("same export twice", EAST + EXPORT + EXPORT, "export[1].name", "the name of export[0]", "own name"),
    (
        "same listener",
        EAST + FORWARD.replace("3261", "3260"),
        "forward[1].listen",
        "clashes with forward[0].listen (127.0.0.1:3260)",
        "own",
    ),
    (
        "listener in all",
        EAST + FORWARD.replace("127.0.0.1:3261", "0.0.0.0:3260"),
        "forward[1].listen",
        "clashes",
        "own",
    ),
    ("listener and status", EAST + FORWARD.replace("3261", "8900"), "forward[1].listen", "clashes with status", "own"),
    (
        "listener and default status",
        EAST.replace('[status]\nlisten = "127.0.0.1:8900"', "") + FORWARD.replace("3261", "8900"),
        "forward[1].listen",
        "clashes with status.listen (127.0.0.1:8900)",
        "own",
    ),
    ("peer is the site", change('name = "east"', 'name = "West"'), "peer[0].name", "this site itself", "other site"),
    (
        "peer at our listener",
        change("198.18.0.2:4500", "198.18.0.1:4500"),
        "peer[0].address",
        "this site itself",
        "other",
    ),
    (
        "nobody dials",
        change('[tunnel]\nlisten = "198.18.0.1:4500"', "").replace('address = "198.18.0.2:4500"\n', ""),
        "tunnel.listen",
        "is missing, but peer[0] has no address",
        "listen = ",
    ),
    ("peer unknown to TLS", change('certificate = "west.crt"', ""), "peer[0].certificate", "is missing", "identity.ca"),
    (
        "export to our own forward",
        EAST + EXPORT.replace("10.0.0.1:3260", "127.0.0.1:3260"),
        "export[0].address",
        "is forward[0].listen of this site, which leads on to a peer",
        "array's own address",
    ),
    (
        "no time between",
        change("[tunnel]", '[tunnel]\nkeepalive = "20s"'),
        "tunnel.keepalive",
        "no time before dead_after (20s)",
        "longer than keepalive",
    ),
    ("lanes in quotes", change("[tunnel]", '[tunnel]\nlanes = "4"'), "tunnel.lanes", "neither", "without quotes"),
    ("dead too soon", change("[tunnel]", '[tunnel]\ndead_after = "5s"'), "tunnel.dead_after", "no time", "four times"),
    (
        "window too large",
        change("[tunnel]", '[tunnel]\nwindow = "256MiB"'),
        "tunnel.window",
        "above the memory",
        "memory",
    ),
    (
        "memory too small",
        change("[tunnel]", '[tunnel]\nmemory = "32MiB"'),
        "tunnel.memory",
        "above the memory",
        "window",
    ),
    (
        "too little memory for so many peers",
        change("[tunnel]", '[tunnel]\nwindow = "1MiB"\nmemory = "16MiB"') + PEERS,
        "tunnel.memory",
        "is less than 1MiB for each of 17 peers",
        'at least "17MiB"',
    ),
    (
        "too little to be kept for so many peers",
        change("[tunnel]", '[tunnel]\nunacked = "1MiB"') + PEERS,
        "tunnel.unacked",
        "is less than 1MiB for each of 17 peers",
        'at least "17MiB"',
    ),
    ("average too large", EAST + '[chunking]\naverage = "65KiB"\n', "chunking.average", "above maximum (64KiB)", "<="),
    ("minimum too large", EAST + '[chunking]\nminimum = "9KiB"\n', "chunking.minimum", "twice minimum (9KiB)", "half"),
    ("average too small", EAST + '[chunking]\naverage = "7KiB"\n', "chunking.average", "than twice minimum", "half"),
    ("maximum too small", EAST + '[chunking]\nmaximum = "8KiB"\n', "chunking.maximum", "puts average (16KiB)", "<="),
    ("chunks too large", EAST + '[chunking]\nmaximum = "512KiB"\n', "chunking.maximum", "is too large", "256KiB"),
]


@pytest.mark.parametrize(("text", "key", "wrong", "remedy"), [case[1:] for case in ONE], ids=[case[0] for case in ONE])
def test_one_mistake(text: str, key: str, wrong: str, remedy: str) -> None:
    with one_mistake(key, wrong, remedy):
        site_of(text)


WHOLE = [
    ("syntax", b"[site]\nname = = 1\n", "(at line 2, column 8)", "double quotes"),
    ("section twice", b"[site]\n[site]\n", "has section [site] a second time (at line 2, column 6)", "keep one [site]"),
    ("table and tables", b"[[peer]]\n[peer]\n", "has section [peer] a second time", "or write [[peer]] above each"),
    ("a key", b"-----BEGIN PRIVATE KEY-----\nMIGHAgEA==\n", "it may be a key, a certificate or", "path of a site"),
    ("open quote", b"a = 'x\n[b]\n", "is not TOML: Expected", "finish what has no end"),
    ("key twice", b"a = 1\na = 2\n", "sets a key a second time (at line 2, column 6)", "keep one of the two"),
    ("not UTF-8", b'[site]\nname = "\xff"\n', "line 2 is not UTF-8", "save the file as UTF-8"),
    ("UTF-16", '[site]\nname = "a"\n'.encode("utf-16-le"), "line 1 holds a zero byte", "save the file as UTF-8"),
    ("UTF-16 of a token", "deadbeef==".encode("utf-16-le"), "it may be a key, a certificate or", "path of a site"),
    ("a megabyte of blanks", b" " * (1 << 20) + b"x", "it may be a key, a certificate or", "path of a site"),
    ("CR alone", b'[site]\rname = "a"\r', "has a carriage return (CR) without", "line ends of Unix"),
    (
        "CR behind a comment",
        b'# a site\r[site]\rname = "a"\r',
        "has a carriage return (CR) without",
        "line ends of Unix",
    ),
    ("CR in a token", b"deadbeef\r", "it may be a key, a certificate or", "path of a site"),
    ("JSON", b'{"site": {"name": "a"}}\n', "seems to be JSON, not TOML", "[section] and key ="),
    ("YAML", b"# a site = this\n\nsite:\n  name: a\n", "seems to be YAML, not TOML", "[section] and key ="),
    ("YAML that sets something", b"---\nargs:\n a=b\n", "seems to be YAML, not TOML", "[section] and key ="),
    ("byte order mark", b"\xef\xbb\xbf[site]\n", "begins with a byte order mark", "save it as UTF-8 without one"),
    ("long number", b"a = " + b"9" * 5000, "beyond all measure", "remove it"),
    ("deep nesting", b"a = " + b"[" * 50000, "beyond all measure", "remove it"),
]


@pytest.mark.parametrize(("content", "wrong", "remedy"), [case[1:] for case in WHOLE], ids=[case[0] for case in WHOLE])
def test_a_file_that_is_not_toml(tmp_path: Path, content: bytes, wrong: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(content, tmp_path / "site.toml")
    (mistake,) = caught.value.mistakes
    assert wrong in mistake.wrong
    assert remedy in mistake.remedy
    assert str(caught.value).startswith(f"{tmp_path}/site.toml: 1 mistake\n")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing.toml: 1 mistake\n  cannot be read: No such file"):
        load(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="it is a directory, not a file; give the path of a site's file"):
        load(tmp_path)
    with pytest.raises(ConfigError, match="cannot be read: embedded null"):
        load(Path("a\0b"))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="cannot be read: it is a pipe, not a file"):
        load(tmp_path / "pipe")


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        load(tmp_path / "big")


def test_an_empty_file_says_all_that_is_needed() -> None:
    keys = [mistake.key for mistake in mistakes_in("")]
    assert keys == ["site.name", "identity.certificate", "identity.key", "peer"]


def test_all_mistakes_at_once() -> None:
    """Those of single values, of keys together and of files; a mistake in one key hides none in its neighbours."""
    text = """
        top = 1
        [site]
        name = "west"
        nmae = "x"
        [identity]
        certificate = "missing.crt"
        key = "missing.key"
        [tunnel]
        keepalive = 5
        window = "1GiB"
        [store]
        mode = "disk"
        size = "1KiB"
        [status]
        listen = "10.0.0.1:3260"
        [[peer]]
        name = "West"
        [[peer]]
        address = "nowhere"
        certificate = "peer.crt"
        [[forward]]
        name = "a"
        listen = "10.0.0.1:3260"
        peer = "wset"
        export = "?"
        [[export]]
        name = "array"
        address = "10.0.0.1:3260"
        peers = ["West", "eest", 5]
    """
    found = {mistake.key: mistake.wrong for mistake in mistakes_in(text)}
    assert list(found) == [
        "site.nmae",
        "identity.certificate",
        "identity.key",
        "tunnel.keepalive",
        "tunnel.listen",
        "tunnel.window",
        "store.size",
        "store.path",
        "status.listen",
        "peer[0].name",
        "peer[0].certificate",
        "peer[1].name",
        "peer[1].address",
        "peer[1].certificate",
        "forward[0].export",
        "forward[0].peer",
        "forward[0].listen",
        "export[0].peers[2]",
        "export[0].peers[1]",
        "export[0].address",
        "top",
    ]


def test_the_message_shows_key_value_wrong_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(WEST.replace("10GiB", "10").encode(), tmp_path / "west.toml", files=False)
    units = "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, KB"
    assert str(caught.value) == (
        f"{tmp_path}/west.toml: 1 mistake\n"
        '  store.size = "10"\n'
        f'    is not a size; write a number and one of {units}, such as "10GiB"'
    )
    assert caught.value.code == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (r'"\u001b[2J\u202e\n"', r'"\u001b[2J\u202e\n"'),
        (f'"{"x" * 200}"', '"' + "x" * 79 + "…"),
        ("1979-05-27", '"1979-05-27"'),
        ("inf", "Infinity"),
        ("{a = [1, true]}", '{"a": [1, true]}'),
        ("0x" + "f" * 8000, "(too large to show)"),
    ],
)
def test_values_are_shown_short_and_harmless(value: str, shown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        site_of(EAST + f"[log]\nlevel = {value}\n")
    (mistake,) = caught.value.mistakes
    assert str(mistake).splitlines()[0] == f"log.level = {shown}"


def test_keys_are_shown_harmless() -> None:
    with one_mistake(r"forward[0].\x1b[31m", "not a known key", "known here"):
        site_of(EAST + '"\\u001b[31m" = 1\n')


def test_a_peer_may_be_dialled_by_a_forward_to_another() -> None:
    parsed = site_of(EAST + NORTH.replace("198.18.0.3:4500", "127.0.0.1:3260"))
    assert [str(peer.address) for peer in parsed.peers] == ["198.18.0.2:4500", "127.0.0.1:3260"]
