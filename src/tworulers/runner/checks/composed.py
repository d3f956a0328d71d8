"""Which files a command composes, and that none of them can make it run anything but a stage."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from math import prod
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import OmegaConf
from yaml import YAMLError

from tworulers.runner.graph.choices import read_yaml

TARGET = "_target_"
OURS = re.compile(r"(hydra\._internal\.core_plugins|hydra_plugins)\.(\w+\.)*\w+(Launcher|Sweeper)")
"""Classes of Hydra and its plugins that deal out runs: the only ones that a configuration may name."""

PLAIN = re.compile(r"[\w.:,@+-]*")
RUNS = {"setup", "python", "srun_args", "additional_parameters", "submitit_folder", "temp_folder"}
"""Settings of a launcher that are commands for a cluster, or places to write to."""

ELSEWHERE = ("--config-dir", "--config-path", "--config-name", "--experimental-rerun")
"""Arguments of Hydra's own that compose another folder than `conf/`, or unpickle a run."""

SHORT_ELSEWHERE = ("-cd", "-cp", "-cn")
SEARCHED = "hydra.searchpath"
"""The setting of Hydra's own that adds folders to compose files from."""

OF_CONF_ALONE = "compose files of conf/ alone; copy those you want to conf/experiment/"

MOST_COMBINATIONS = 24
NO_CODE = "a configuration runs no code"


class CodeInConfigurationError(ValueError):
    """A composed file, or an argument, would run something other than a stage."""


def check_composed(arguments: Sequence[str], *folders: Path) -> None:
    """Refuse hooks, targets and commands in every file that the arguments compose, before Hydra acts on any.

    Parameters
    ----------
    arguments : of the command, without its own name.
    folders : of the configuration, the first before the others.

    Raises
    ------
    CodeInConfigurationError : with the files or arguments, their keys, and what is wrong with each.
    ValueError : a file is no YAML; the message says where.
    """
    faults = [
        f"{argument}: {OF_CONF_ALONE}" for argument in arguments if _leads_elsewhere(argument)
    ]
    overrides = [argument for argument in arguments if not argument.startswith("-")]
    faults += [fault for override in overrides if (fault := _find_fault_of_override(override))]
    if not faults:
        for file, package, content in _list_composed(overrides, folders[0]):
            if content is None:
                faults.append(f"{file} is no file of conf/: {OF_CONF_ALONE}")
                continue
            keys = _list_keys(content, package)
            main = file in [folder / "config.yaml" for folder in folders]
            homes = [folder.parent for folder in folders if file.is_relative_to(folder.parent)]
            shown = file.relative_to(homes[0]) if homes else file
            faults += [
                f"{shown}: {key} {why}" for key, value in keys if (why := _judge(key, value, main))
            ]
    if faults:
        raise CodeInConfigurationError(f"{NO_CODE}:\n  " + "\n  ".join(dict.fromkeys(faults)))


def _leads_elsewhere(argument: str) -> bool:
    """Tell whether an argument may compose another folder or unpickle a run, however its name is cut short."""
    name = argument.partition("=")[0]
    if name.startswith("--"):
        return name != "--" and any(flag.startswith(name) for flag in ELSEWHERE)
    return name.startswith(SHORT_ELSEWHERE)


def _judge(key: str, value: Any, main: bool) -> str:
    """Say what is wrong with a value of a file; `main` is the project's own `config.yaml`."""
    parts = key.split(".")
    if f"{key}.".startswith(f"{SEARCHED}."):
        return f"adds folders to compose from: {OF_CONF_ALONE}"
    if key == "hydra" and value:
        return "stands for settings elsewhere; write them out"
    if TARGET in parts:
        named = len(parts) == 3 and parts[:2] in (["hydra", "launcher"], ["hydra", "sweeper"])
        if named and parts[2] == TARGET and OURS.fullmatch(str(value)):
            return ""
        return f"names {value!r}, to be called; only Hydra's own launchers and sweepers are"
    if parts[:2] == ["hydra", "callbacks"]:
        return "is a hook, to be called at every start; take it out"
    if parts[0] != "hydra" or main:
        return ""
    if parts[1:2] == ["launcher"] and not RUNS & set(parts):
        if value is None or isinstance(value, (bool, int, float)) or PLAIN.fullmatch(str(value)):
            return ""
        return f"is {value!r}, no plain word or number; give it on the command line"
    if parts[1:3] == ["sweeper", "max_batch_size"]:
        return ""
    return "decides how the command is run; give it on the command line"


def _find_fault_of_override(override: str) -> str:
    """Say what is wrong with an argument of the command line, which may set all but hooks and targets."""
    key, _, value = override.partition("=")
    name = key.lstrip("+~").replace("/", ".").partition("@")
    if override.startswith("~"):
        return ""
    if any(place.startswith(SEARCHED) for place in name):
        return f"{key}: {OF_CONF_ALONE}"
    if name[0] == "hydra" or any(place.startswith("hydra.callbacks") for place in name):
        return f"{key} is a hook, to be called at every start; leave it out"
    if name[0] in (f"hydra.launcher.{TARGET}", f"hydra.sweeper.{TARGET}") and OURS.fullmatch(value):
        return ""
    if name[0].startswith("hydra.sweeper.params"):
        return f"{key}: give what is swept itself, as key=a,b with -m"
    if TARGET in override:
        return (
            f"{override} names something to be called; only Hydra's own launchers and sweepers are"
        )
    return ""


def _list_composed(overrides: Sequence[str], conf: Path) -> Iterator[tuple[Path, str, Any]]:
    """List the files that a command composes, in a sweep those of every run, with their packages and contents.

    The content of a file that does not lie in `conf/` is None.
    """
    seen: set[tuple[str, str]] = set()
    with initialize_config_dir(version_base="1.3", config_dir=str(conf), job_name="check"):
        loader = GlobalHydra.instance().config_loader()
        for choice in _list_choices(overrides, loader):
            try:
                defaults = loader.compute_defaults_list("config", choice, RunMode.RUN).defaults
            except HydraException:
                continue  # Hydra says of the same choice what is wrong with it.
            except YAMLError as error:
                raise ValueError(f"a file of the configuration is no YAML: {error}") from error
            for one in defaults:
                if one.config_path is None or (one.config_path, one.package or "") in seen:
                    continue
                seen.add((one.config_path, one.package or ""))
                sources = loader.repository.get_sources()
                found = next((s for s in sources if s.is_config(one.config_path)), None)
                name, package = f"{one.config_path}.yaml", one.package or ""
                if found is None:
                    yield Path(name), package, None
                elif found.scheme() == "file":
                    content = read_yaml(Path(found.path) / name)
                    content.pop("defaults", None)
                    yield Path(found.path) / name, package, content
                elif found.provider != "hydra" and found.scheme() != "structured":
                    composed = loader.repository.load_config(one.config_path).config
                    yield Path(name), package, OmegaConf.to_container(composed)


def _list_choices(overrides: Sequence[str], loader: Any) -> Iterator[list[str]]:
    """List the overrides of every run of a sweep over groups; of very many, the first and each value once."""
    parser = OverridesParser.create(config_loader=loader)
    parsed = []
    for override in overrides:
        # What cannot be read is the value of a flag, or Hydra says what is wrong with it.
        with suppress(HydraException):
            parsed.append(parser.parse_override(override))
    fixed = [o.input_line for o in parsed if not o.is_sweep_override()]
    swept = [_list_values(o) for o in parsed if o.is_sweep_override() and _is_group(o, loader)]
    for combination in islice(product(*swept), MOST_COMBINATIONS):
        yield [*fixed, *combination]
    if prod(map(len, swept)) <= MOST_COMBINATIONS:
        return
    for place, values in enumerate(swept):
        first = [others[0] for others in swept]
        yield from ([*fixed, *first[:place], value, *first[place + 1 :]] for value in values)


def _list_values(override: Override) -> list[str]:
    key = override.get_key_element()
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _is_group(override: Override, loader: Any) -> bool:
    return bool(loader.repository.group_exists(override.key_or_group))


def _list_keys(content: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """List the values of a nested mapping by dotted key; an empty mapping is a value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from _list_keys(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(content, Sequence) and not isinstance(content, str) and content:
        for place, value in enumerate(content):
            yield from _list_keys(value, f"{prefix}.{place}")
    else:
        yield prefix, content
