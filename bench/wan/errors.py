"""What can go wrong with an emulated line."""


class WanFailure(Exception):
    """The line cannot be set up, found or changed; the message names the thing, the place and the remedy."""


class WrongSetting(WanFailure):
    """A setting has a wrong value; `wrong` begins with what was given, and ends with the remedy."""

    def __init__(self, setting: str, wrong: str) -> None:
        super().__init__(f"{setting} {wrong}")
        self.setting = setting
        self.wrong = wrong
