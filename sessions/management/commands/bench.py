"""`bench`: what ingest, pages and previews cost on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from sessions.abreast import usual
from sessions.bench import appending, browsing, exporting, ingesting, paging, previewing, searching
from sessions.management.base import SessionsCommand


class Command(SessionsCommand):
    help = "Measure on invented sessions, in a workspace of their own that is removed afterwards."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        which = parser.add_subparsers(dest="which", required=True, metavar="WHAT")
        ingest = which.add_parser("ingest", help="speed and memory of taking sessions in, beside the floor")
        ingest.add_argument(
            "paths", nargs="*", type=Path, metavar="PATH", help="of these files and folders, in place of invented ones"
        )
        ingest.add_argument("--mb", type=_count, default=50, metavar="N", help="megabytes to generate (default: 50)")
        ingest.add_argument(
            "--no-floor", action="store_true", help="ours alone: of a file too large to be held for the floor"
        )
        ingest.add_argument(
            "--processes", type=_count, default=usual(), metavar="N", help="as of ingest (%(default)s here)"
        )
        ingest.add_argument("--one", action="store_true", help="one file, however large")
        append = which.add_parser("append", help="work of taking in one appended line, by the size of the session")
        append.add_argument("--mb", type=_count, nargs="+", default=[1, 25, 300], metavar="N")
        append.add_argument("--lines", type=_count, default=15, metavar="N")
        pages = which.add_parser(
            "pages", help="server time of a short and a long session's page, side by side; of the chart; of the audit"
        )
        pages.add_argument("--small", type=_count, default=500, metavar="ENTRIES")
        pages.add_argument("--large", type=_count, default=50_000, metavar="ENTRIES")
        pages.add_argument("--steps", type=_count, default=100_000, metavar="N", help="of the chart (default: 100,000)")
        pages.add_argument("--sessions", type=_count, default=5_000, metavar="N", help="of the audit (default: 5,000)")
        pages.add_argument(
            "--goals", type=_count, default=50_000, metavar="N", help="given up in them (default: 50,000)"
        )
        pages.add_argument("--runs", type=_count, default=15, metavar="N")
        browser = which.add_parser("browser", help="until a long session's first entries stand in a browser")
        browser.add_argument("--entries", type=_count, default=15_000, metavar="N")
        browser.add_argument("--runs", type=_count, default=7, metavar="N")
        compaction = which.add_parser("compaction", help="time of a preview by the length of the context")
        compaction.add_argument("--entries", type=_count, nargs="+", default=[1_000, 10_000, 100_000], metavar="N")
        compaction.add_argument("--strategy", nargs="+", default=["mask", "hybrid", "goal-tree"], metavar="NAME")
        compaction.add_argument("--runs", type=_count, default=3, metavar="N")
        search = which.add_parser(
            "search", help="time of typical searches over many entries, and what their index costs"
        )
        search.add_argument("--entries", type=_count, default=1_000_000, metavar="N", help="default: 1,000,000")
        search.add_argument("--runs", type=_count, default=5, metavar="N")
        search.add_argument(
            "--keep", action="store_true", help="leave the invented sessions for the next measure of as many"
        )
        exports = which.add_parser("export", help="time and memory of a session as a file, by its length")
        exports.add_argument("--entries", type=_count, nargs="+", default=[5_000, 50_000], metavar="N")
        for one in (ingest, append, pages, browser, compaction, search, exports, *self.more(which)):
            one.add_argument(
                "--json", action="store_true", dest="as_json", default=argparse.SUPPRESS, help="print JSON"
            )

    def more(self, which: Any) -> tuple[argparse.ArgumentParser, ...]:
        """Measures of the rooms above, which this one knows nothing of, added to `which`."""
        return ()

    def act(self, options: dict[str, Any]) -> Any:
        match options["which"]:
            case "ingest":
                found = ingesting.bench(
                    megabytes=options["mb"],
                    floor=not options["no_floor"],
                    one=options["one"],
                    paths=options["paths"],
                    processes=options["processes"],
                )
            case "append":
                found = appending.bench(megabytes=options["mb"], lines=options["lines"])
            case "pages":
                sizes = ("small", "large", "steps", "sessions", "goals", "runs")
                found = paging.bench(**{name: options[name] for name in sizes})
            case "search":
                found = searching.bench(entries=options["entries"], runs=options["runs"], keep=options["keep"])
            case "export":
                found = exporting.bench(entries=options["entries"])
            case "browser":
                found = browsing.bench(entries=options["entries"], runs=options["runs"])
            case _:
                found = previewing.bench(
                    entries=options["entries"], strategies=options["strategy"], runs=options["runs"]
                )
        return {"bench": options["which"], **found}

    def tell(self, value: Any) -> None:
        match value["bench"]:
            case "ingest":
                self._tell_ingest(value)
            case "append":
                for row in value["sizes"]:
                    self.stdout.write(
                        f"{row['bytes'] / 1e6:>8,.1f} MB, {row['entries']:>9,} entries: one line more takes {row['seconds'] * 1000:.1f} ms "
                        f"({row['cpu_seconds'] * 1000:.1f} ms of this process; the longest {row['most_seconds'] * 1000:.1f} ms)"
                    )
            case "pages":
                for row in value["pages"]:
                    self.stdout.write(
                        f"{row['page']:<8} {value['small']:,} entries {row['small_seconds'] * 1000:.1f} ms ({row['small_bytes']:,} bytes), "
                        f"{value['large']:,} entries {row['large_seconds'] * 1000:.1f} ms ({row['large_bytes']:,} bytes): ratio {row['ratio']}"
                    )
                for row in value["audit"]:
                    self.stdout.write(
                        f"audit    {row['page']:<12} of {value['goals']:,} goals in {value['sessions']:,} sessions {row['seconds'] * 1000:.1f} ms "
                        f"({row['bytes']:,} bytes; the slowest {row['most_seconds'] * 1000:.1f} ms)"
                    )
                for row in value["chart"]:
                    self.stdout.write(
                        f"chart    {row['window']} of {value['steps']:,} steps {row['seconds'] * 1000:.1f} ms "
                        f"({row['bytes']:,} bytes; the first {row['first_seconds'] * 1000:.1f} ms)"
                    )
            case "search":
                self._tell_search(value)
            case "export":
                for row in value["exports"]:
                    what = f"{'context as ' if row['context'] else ''}{row['form']}, {'redacted' if row['redacted'] else 'with secrets'}"
                    self.stdout.write(
                        f"{row['entries']:>9,} entries  {what:<30} {row['seconds']:>6.1f} s ({row['cpu_seconds']:.1f} s CPU, the first block after "
                        f"{row['first_seconds']:.2f} s), {row['bytes'] / 1e6:,.1f} MB, memory {row['memory'] / 1e6:+,.1f} MB"
                    )
            case "browser":
                for row in value["browser"]:
                    paint, transcript = (
                        "–" if row[name] is None else f"{row[name] * 1000:.0f} ms"
                        for name in ("paint_seconds", "transcript_seconds")
                    )
                    self.stdout.write(
                        f"{value['entries']:,} entries, {row['page']:<13} answered after {row['answer_seconds'] * 1000:.0f} ms, first paint "
                        f"{paint}, first entries {transcript}; {row['bytes']:,} bytes, {row['elements']:,} elements"
                    )
                self.stdout.write(f"(load of the machine before: {value['load']} on {value['cpus']} processors)")
            case _:
                for row in value["sizes"]:
                    self.stdout.write(
                        f"{row['entries']:>9,} entries, {row['strategy']:<10} preview {row['preview_seconds']:.2f} s ({row['loading_seconds']:.2f} s loading, "
                        f"{row['beyond_loading_seconds']:.2f} s beyond, {row['beyond_loading_cpu_seconds']:.2f} s of it CPU), context {row['context_seconds']:.2f} s, "
                        f"all meters {row['meters_seconds'] * 1000:.1f} ms; {row['status']}, "
                        f"{row['tokens_before']} → {row['tokens_after']} tokens, peak memory {row['peak_memory'] / 1e6:,.0f} MB"
                    )
                for row in value["growth"]:
                    times = "–" if row["times_cpu"] is None else f"{row['times_cpu']:.1f}"
                    self.stdout.write(
                        f"{row['strategy']:<10} {row['from_entries']:,} → {row['to_entries']:,} entries, {row['times_entries']:g} times as many: "
                        f"{times} times the CPU beyond loading"
                    )

    def _tell_ingest(self, value: Any) -> None:
        self.stdout.write(
            f"{value['bytes'] / 1e6:,.1f} MB in {value['files']} files, {value['entries']:,} entries, {value['processes']} at a time: "
            f"{value['seconds']:.2f} s, {value['megabytes_per_second']} MB/s, {value['entries_per_second']:,} entries/s"
        )
        if floor := value.get("floor"):
            self.stdout.write(
                f"the floor: {floor['seconds']:.2f} s, {floor['megabytes_per_second']} MB/s: ours takes {value['times_the_floor']} times as long, "
                f"{value['times_the_floor_cpu']} times by CPU"
            )
            self.stdout.write(f"the floor is {floor['what']}, in one thread, file after file")
        self.stdout.write(
            f"peak memory of a process {value['peak_memory'] / 1e6:,.0f} MB ({value['memory_before'] / 1e6:,.0f} MB before)"
        )
        if value["left_out"]:
            self.stdout.write(
                f"{len(value['left_out'])} files are no sessions of their own and were left out (--json names them)"
            )

    def _tell_search(self, value: Any) -> None:
        self.stdout.write(f"{value['entries']:,} entries in {value['sessions']:,} sessions")
        if value["copy_seconds"] is not None:
            self.stdout.write(
                f"{value['characters'] / 1e6:,.0f} million characters written in {value['copy_seconds']:,} s, {value['entry_bytes'] / 1e6:,.0f} MB"
            )
        if value["index_seconds"] is not None:
            self.stdout.write(
                f"indexed in {value['index_seconds']:,} s ({value['index_cpu_seconds']:,} s of this process), "
                f"{value['entries_indexed_per_second']:,} entries a second; index {value['index_bytes'] / 1e6:,.0f} MB"
            )
        for row in value["queries"]:
            most = "at most " if row["at_most"] else ""
            self.stdout.write(
                f"{row['what']:<24} {row['seconds'] * 1000:>6.0f} ms (at first {row['first_seconds'] * 1000:.0f}, {row['finding_seconds'] * 1000:.0f} without "
                f"the page, {row['cpu_seconds'] * 1000:.0f} of this process)  {most}{row['hits']:,} hits in {row['sessions']:,} sessions  {row['query']}"
            )


def _count(text: str) -> int:
    value = int(text.replace("_", "").replace(",", ""))
    if value < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return value
