"""Which columns count every exam on its own, also where a patient has several: the published figures."""

from collections.abc import Mapping

EXAM_LEVEL: Mapping[str, tuple[str, ...]] = {
    "tests": ("p", "p_fdr", "spread_f", "spread_p"),
    "rates": ("wilson_low", "wilson_high", "exact_low", "exact_high"),
    "disparities": (
        *("dir_bca_low", "dir_bca_high", "dir_percentile_low", "dir_percentile_high"),
        *("dir_exact_low", "dir_exact_high", "dir_exact_percentile_low"),
        *("dir_exact_percentile_high", "p_dir"),
    ),
    "linear": ("standard_error", "low", "high", "f", "p", "model_p"),
    "flips": ("p_base", "p_other", "p_fdr_base", "p_fdr_other"),
    "verdicts": ("p_base", "p_other", "p_fdr_base", "p_fdr_other", "hc3_p"),
    "spread": ("pitman_morgan_p", "hc3_p", "spearman_p", "wilcoxon_p"),
    "decomposition": tuple(
        f"p_{gap}_{noise}{by}"
        for by in ("", "_by_means")
        for gap in ("base", "other")
        for noise in ("base", "other")
    ),
    "inflation": ("wilcoxon_p",),
    "differences": ("wilcoxon_p",),
    "by_group": ("wilcoxon_p",),
    "confounders": ("p",),
}
"""By table. A verdict and a shown interval rest on none of these where a patient repeats; `dir_bca`, `dir_percentile`
and `p_dir` count exams where the resampling unit of the attributes is the exam."""
