"""A tree as one self-contained web page: look at it, follow a row through it, no network needed.

The page is data and three kinds of asset kept beside this file: ``page.html`` (the frame), ``style.css``, and the
scripts named in ``_assets.SCRIPTS``. Python embeds the tree's arrays as JSON; the browser draws and predicts from
them. Every name reaches the page as text, never as markup.
"""

from boscage.html._assets import page, tree_assets
from boscage.html._page import to_html, tree_fragment

__all__ = ["page", "to_html", "tree_assets", "tree_fragment"]
