"""Random edits of a task's tree as shell lines that mean the same at every level, odd names and all."""

from __future__ import annotations

import shlex

from hypothesis import strategies as st

FILES = (
    "src/a.py",
    "src/b.py",
    "README.md",
    "deep/one/two/f",
    "deep/one/g",
    "data.txt",
    "n\u00e4me",
    "sp ace",
    ":(x)",
    "x\ny",
)
FOLDERS = ("src", "deep", "deep/one", "new", "new/inner", "ign", "sub")
NAMES = (
    "f",
    "a.py",
    "g",
    "x.log",
    "data.txt",
    "tab\there",
    "quo'te",
    "-dash",
    "*glob",
    "a.txt",
    ".hidden",
    "\\back",
    "ign",
)

START: dict[str, str | bytes | None] = {
    **{name: f"{name}\nline\n" for name in FILES},
    ".gitignore": "*.log\nign/\n",
    "kept.log": "tracked although ignored\n",
    "run.sh": "#!/bin/sh\n",
    "sub/one": "1\n",
    "sub/two": "2\n",
}

paths = st.one_of(
    st.sampled_from(FILES),
    st.builds("{}/{}".format, st.sampled_from(FOLDERS), st.sampled_from(NAMES)),
    st.sampled_from(("kept.log", "run.sh", "new", "deep", "sub", "src", "other.log")),
)
texts = st.sampled_from(("", "x\n", "longer\nlonger\n", "crlf\r\n", "\x01\x02"))


def _write(path: str, text: str) -> str:
    quoted = shlex.quote(f"./{path}")
    return (
        f"mkdir -p {shlex.quote('./' + (path.rpartition('/')[0] or '.'))} && printf %s {shlex.quote(text)} > {quoted}"
    )


def _quiet(words: str) -> str:
    return f"{words} || true"


edits = st.one_of(
    st.builds(_write, paths, texts),
    st.builds(lambda path: f"rm -rf {shlex.quote('./' + path)}", paths),
    st.builds(lambda path: f"chmod +x {shlex.quote('./' + path)}", paths),
    st.builds(lambda path: f"ln -sfn ../a {shlex.quote('./' + path)}", paths),
    st.builds(lambda path: f"mkdir -p {shlex.quote('./' + path)}", paths),
    st.builds(lambda old, new: f"mv -T {shlex.quote('./' + old)} {shlex.quote('./' + new)}", paths, paths),
    st.builds(lambda path: f"touch {shlex.quote('./' + path)}", paths),
    st.builds(lambda path: f"git add -f -- {shlex.quote('./' + path)}", paths),
    st.builds(lambda path: f"git rm -qr --cached -- {shlex.quote('./' + path)}", paths),
    st.builds(
        lambda path: f"git init -q {shlex.quote('./' + path)}", st.sampled_from(("sub", "nest", "ign/n", "new/r"))
    ),
    st.builds(
        lambda path: f"cd {shlex.quote('./' + path)} && test -d .git && git add -A && git commit -qm n",
        st.sampled_from(("sub", "nest", "ign/n", "new/r")),
    ),
    st.just("printf '*.txt\\n' >> .gitignore"),
    st.just("printf '*.txt eol=crlf\\n*.py text\\n' > .gitattributes"),
    st.just("rm -f .gitignore"),
    st.just("printf '!*.log\\n' > deep/.gitignore"),
    st.just("git add -A"),
    st.just("git add -A && git commit -qm own"),
)


def script(lines: list[str]) -> str:
    """The edits one after the other; one that fails does nothing more."""
    return "\n".join(_quiet(f"( {line} ) 2>/dev/null") for line in lines) or "true"
