import pytest
from tests.refusals import refused

from fabricheck.report.offline import outside_resources, require_offline

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'none'">"""


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/bokeh.js"></script>',
        '<script src="bokeh.js"></script>',
        "<SCRIPT SRC=//cdn.example/bokeh.js></SCRIPT>",
        '<link rel="stylesheet" href="https://cdn.example/x.css">',
        '<link rel="icon" href="data:,">',
        '<a href="http://example.org/">out</a>',
        '<img src="file:///a.png">',
        '<img srcset="a.png 1x">',
        '<image xlink:href="a.svg"/>',
        "<style>@import 'x.css';</style>",
        "<style>b { background: url(https://example.org/a.png) }</style>",
        "<style>b {}</style><p>x</p><style>@font-face { src: url('a.woff') }</style>",
        '<p style="background: url(a.png)">',
        '<meta http-equiv="refresh" content="0; url=https://example.org/">',
        '<iframe srcdoc=""></iframe>',
        '<base href="#">',
        '<form action="/x"></form>',
    ],
)
def test_a_resource_from_outside_is_seen(html):
    assert outside_resources(POLICY + html)
    with refused("FC2105"):
        require_offline(POLICY + html)


@pytest.mark.parametrize(
    "html",
    [
        '<a href="#wrong">in</a>',
        '<a href="file:///srv/output/job.out">log</a>',
        '<img src="data:image/png;base64,AA==">',
        "<style>b { background: url(data:image/png;base64,AA==) }</style>",
        "<script>// see https://docs.bokeh.org\nconst url = '@import';</script>",
        "<p>@import is a word here</p>",
    ],
)
def test_what_is_inside_is_left_alone(html):
    assert outside_resources(POLICY + html) == []


@pytest.mark.parametrize(
    "policy",
    ["", """<meta http-equiv="Content-Security-Policy" content="default-src *">"""],
)
def test_a_page_without_the_policy_is_refused(policy):
    assert outside_resources(policy + "<p>x</p>") == [
        "no content security policy that denies all connections"
    ]
