"""Why an image cannot be used."""


class ImageError(ValueError):
    """An image cannot be used; the message names the file and the reason.

    `kind` is `missing`, `unreadable`, `misnamed`, `volumes`, `size` or `values`; `found` holds what was counted.
    """

    def __init__(
        self, message: str, kind: str = "unreadable", found: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.found = found or {}

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.kind, self.found)
