"""How a reference came about, as far as it bears on what it may be believed: a sentence each."""


def tell_origin(name: str, corrected_from: str, caveat: str) -> list[str]:
    """Say that labels are corrections of a machine's, and what else somebody declared of them.

    Parameters
    ----------
    name : of the reference.
    corrected_from : the name of the labels that were corrected; empty where there are none.
    caveat : as declared; empty where nothing was.
    """
    told = []
    if corrected_from:
        told.append(
            f"The {name} labels are corrections of the {corrected_from} ones: the two are no independent rulers, and "
            f"both favour a model that resembles the {corrected_from} labels. Where these agree better with the {name} "
            "labels in one group, less may have been corrected there."
        )
    if caveat.strip():
        told.append(caveat.strip().rstrip(".") + ".")
    return told
