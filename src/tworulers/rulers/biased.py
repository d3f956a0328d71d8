"""A ruler that is wrong about one group on purpose, to see what is then said of the model."""

from functools import cached_property, partial

import numpy as np

from tworulers.rulers.kinds import RULERS, Change, RulerKind


@RULERS.register("biased")
class BiasedLabels(RulerKind):
    """Expert labels, distorted in one group by a stated amount."""

    @cached_property
    def distorted(self) -> set[str]:
        """The exams of the group.

        Raises
        ------
        ValueError : the grouping has no such group.
        """
        wanted = self.ruler.distortion
        groups = self.material.group(wanted.grouping)
        if wanted.group not in groups.cat.categories:
            raise ValueError(
                f"ruler {self.ruler.name}: group {wanted.group!r} is not one of {list(groups.cat.categories)}"
            )
        return set(groups.index[groups == wanted.group])

    def changes(self, exam: str) -> Change | None:
        """Distort the label of an exam of the group, by a chance that depends on the exam and the seed alone."""
        if exam not in self.distorted:
            return None
        # SciPy takes longest to import, and every command asks which kinds there are.
        from tworulers.rulers.distortion import distort_label

        distortion = self.ruler.distortion
        seed = np.random.SeedSequence([distortion.seed, *exam.encode()])
        return partial(distort_label, distortion=distortion, rng=np.random.default_rng(seed))
