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


def tell_unchanged(base: str, other: str, unchanged: int, exams: int) -> str:
    """Say in how many exams experts left a machine's label map as it was; nothing where that is not known.

    Parameters
    ----------
    base, other : names of the experts' reference and of the machine's.
    unchanged, exams : in how many both are one, of how many.
    """
    if not exams:
        return ""
    return (
        f"In {unchanged} of {exams} exams the {base} labels are the {other} ones, voxel by voxel."
    )


def tell_predicted(model: str, told: str) -> str:
    """Say that a model predicted otherwise than its recipe says; nothing where it did not.

    Parameters
    ----------
    model : its name.
    told : how it predicted, `inference=fast: ...`; empty where as its recipe says.
    """
    return f"The {model} model predicted with {told}; not as its recipe says." if told else ""
