"""The addresses of recorded sessions. Every fragment has its own and works as a whole page."""

from django.urls import path

from sessions import chartviews, goalviews, insight, recordviews, urls_resume, verbs, views, wayin, wayviews

app_name = "sessions"

urlpatterns = [
    path("", views.session_list, name="list"),
    path("take-in", wayin.take_in, name="take_in"),
    path("intake", wayin.log, name="intake"),
    path("watched", wayin.watch, name="watch"),
    path("s/<str:name>", views.session, name="session"),
    path("s/<str:name>/entries", views.entries, name="entries"),
    path("s/<str:name>/records", views.records, name="records"),
    path("s/<str:name>/e/<int:seq>", views.entry, name="entry"),
    path("s/<str:name>/e/<int:seq>/raw", views.raw, name="raw"),
    path("s/<str:name>/e/<int:seq>/words/<int:part>", recordviews.words, name="words"),
    path("s/<str:name>/e/<int:seq>/media/<int:n>", recordviews.media, name="media"),
    path("s/<str:name>/narrow", wayviews.narrow, name="narrow"),
    path("s/<str:name>/find", wayviews.search_within, name="find"),
    path("s/<str:name>/errors", wayviews.errors, name="errors"),
    path("s/<str:name>/map", wayviews.minimap, name="map"),
    path("s/<str:name>/nearest/<str:what>", wayviews.nearest, name="nearest"),
    path("s/<str:name>/marks", wayviews.marked, name="marks"),
    path("s/<str:name>/bookmark", wayviews.bookmark, name="bookmark"),
    path("s/<str:name>/comment", wayviews.comment, name="comment"),
    path("s/<str:name>/comment/<int:number>/remove", wayviews.uncomment, name="uncomment"),
    path("s/<str:name>/inspect/<int:seq>", views.inspect, name="inspect"),
    path("s/<str:name>/turns", views.turns, name="turns"),
    path("s/<str:name>/turns/<int:turn>", views.turn, name="turn"),
    path("s/<str:name>/folds/<int:number>", views.fold, name="fold"),
    path("s/<str:name>/folds/<int:number>/figures", views.fold_figures, name="fold-figures"),
    path("s/<str:name>/insertions/<int:version>/<int:position>", views.insertion, name="insertion"),
    path("s/<str:name>/meter", views.meter, name="meter"),
    path("s/<str:name>/steps", views.steps, name="steps"),
    path("s/<str:name>/steps.json", chartviews.steps_json, name="steps-json"),
    path("s/<str:name>/steps.csv", chartviews.steps_csv, name="steps-csv"),
    path("s/<str:name>/cost", chartviews.cost, name="cost"),
    path("s/<str:name>/chart", chartviews.chart, name="chart"),
    path("s/<str:name>/chart.svg", chartviews.chart_svg, name="chart-svg"),
    path("s/<str:name>/goals", views.goals, name="goals"),
    path("s/<str:name>/goals/since", goalviews.since, name="goals-since"),
    path("s/<str:name>/goals/mark", goalviews.mark, name="goals-mark"),
    path("s/<str:name>/goal/<str:path>", goalviews.goal, name="goal"),
    path("s/<str:name>/goal/<str:path>/cause", goalviews.cause, name="goal-cause"),
    path("s/<str:name>/versions", views.versions, name="versions"),
    path("s/<str:name>/fills", insight.fills, name="fills"),
    path("s/<str:name>/memory", insight.memory, name="memory"),
    path("s/<str:name>/context", insight.context, name="context"),
    path("s/<str:name>/diff", insight.diff, name="diff"),
    path("s/<str:name>/diff/entries", insight.diff_entries, name="diff-entries"),
    path("s/<str:name>/since", views.since, name="since"),
    path("s/<str:name>/source", views.source, name="source"),
    path("s/<str:name>/undo", verbs.undo, name="undo"),
    path("s/<str:name>/redo", verbs.redo, name="redo"),
    path("s/<str:name>/head", verbs.head, name="head"),
    path("s/<str:name>/versions/<int:n>/name", verbs.name, name="name-version"),
    path("s/<str:name>/restore", verbs.restore, name="restore"),
    path("s/<str:name>/pin", verbs.pin, name="pin"),
]

urlpatterns += urls_resume.urlpatterns
