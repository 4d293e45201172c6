"""Sums over the turn records: how the work goes, in numbers that the records themselves hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import median, quantiles
from typing import Any, Final

CALLS: Final = ("model_calls", "tool_calls", "failed_calls")


class MemoryAnalytics:
    """Takes the records of turns, background searches and notices, as they stand in the JSON lines."""

    def __init__(self, lines: Iterable[Mapping[str, Any]] = ()) -> None:
        self._states: Counter[str] = Counter()
        self._served: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._recipes: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._usage: Counter[str] = Counter()
        self._layers: Counter[str] = Counter()
        self._times: defaultdict[str, list[float]] = defaultdict(list)
        for line in lines:
            self.add(line)

    @property
    def turns(self) -> int:
        """How many turns were taken in."""
        return self._sums["turns"]

    def add(self, line: Mapping[str, Any]) -> None:
        """Take in one line; one of another kind is passed over."""
        match line.get("kind"):
            case "turn":
                self._turn(line)
            case "prefetch":
                self._prefetch(line)
            case "notice":
                self._sums["notices"] += 1

    def _turn(self, line: Mapping[str, Any]) -> None:
        self._sums["turns"] += 1
        self._states[str(line.get("state", ""))] += 1
        self._served[str(line.get("served_by", ""))] += 1
        self._models[str(line.get("model", ""))] += 1
        self._lost.update(map(str, line.get("lost", ())))
        for name in ("budget_tokens", "prompt_tokens", "results_found", "results_used", *CALLS):
            self._sums[name] += line.get(name, 0)
        self._sums["cut_by_deadline"] += bool(line.get("cut_by_deadline"))
        self._sums["served_something"] += line.get("results_used", 0) > 0
        self._layers.update(line.get("layer_tokens", {}))
        self._usage.update({name: value for name, value in line.get("usage", {}).items() if _is_number(value)})
        self._times["total"].append(float(line.get("total_ms", 0.0)))
        for stage, took in line.get("stage_ms", {}).items():
            self._times[stage].append(float(took))

    def _prefetch(self, line: Mapping[str, Any]) -> None:
        self._sums["prefetches"] += 1
        self._sums["prefetch_results"] += line.get("results", 0)
        self._sums["prefetches_saved"] += bool(line.get("saved"))
        self._recipes[str(line.get("recipe", ""))] += 1
        self._times["prefetch"].append(float(line.get("total_ms", 0.0)))

    def report(self) -> dict[str, Any]:
        """Counts, shares (0..1), means per turn, and milliseconds at the median and the 95th percentile."""
        return {
            "turns": self.turns,
            "states": dict(self._states),
            "served_by": dict(self._served),
            "served_something_share": _share(self._sums["served_something"], self.turns),
            "cut_by_deadline": self._sums["cut_by_deadline"],
            "lost": dict(self._lost),
            "models": dict(self._models),
            **{name: self._sums[name] for name in CALLS},
            "usage": dict(self._usage),
            "mean_budget_tokens": _share(self._sums["budget_tokens"], self.turns),
            "mean_prompt_tokens": _share(self._sums["prompt_tokens"], self.turns),
            "mean_layer_tokens": {name: _share(total, self.turns) for name, total in self._layers.items()},
            "mean_results_found": _share(self._sums["results_found"], self.turns),
            "mean_results_used": _share(self._sums["results_used"], self.turns),
            "prefetches": self._sums["prefetches"],
            "prefetch_recipes": dict(self._recipes),
            "prefetches_saved_share": _share(self._sums["prefetches_saved"], self._sums["prefetches"]),
            "mean_prefetch_results": _share(self._sums["prefetch_results"], self._sums["prefetches"]),
            "milliseconds": {name: _spread(times) for name, times in self._times.items()},
            "notices": self._sums["notices"],
        }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(part: float, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _spread(times: list[float]) -> dict[str, float]:
    p95 = quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return {"median": round(median(times), 3), "p95": round(p95, 3)}
