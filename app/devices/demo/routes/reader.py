"""Reader: an article inside a frame, as in an app that embeds a web view."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, RedirectResponse

from app.devices.demo.phone import PhoneDep

router = APIRouter(prefix="/{device}/reader")


@router.get("/")
def show_reader(phone: PhoneDep) -> HTMLResponse:
    return phone.page("reader/index.html")


@router.get("/article")
def show_article(phone: PhoneDep) -> HTMLResponse:
    return HTMLResponse(phone.render("reader/article.html", article=phone.world.article, toast=""))


@router.post("/article/like")
def like_article(phone: PhoneDep) -> RedirectResponse:
    with phone.change() as state:
        state.article_liked = not state.article_liked
    return phone.go("reader/article")
