"""What can go wrong with an emulated line."""


class WanFailure(Exception):
    """The line cannot be set up, found or changed; the message names the thing, the place and the remedy."""


class WrongSetting(WanFailure):
    """What was given for a setting; `wrong` begins with that and ends with the remedy."""

    def __init__(self, setting: str, wrong: str) -> None:
        super().__init__(f"{setting} {wrong}")
        self.setting = setting
        self.wrong = wrong
