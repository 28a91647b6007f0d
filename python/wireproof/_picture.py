"""Pictures in the page of a notebook."""

from __future__ import annotations

import base64
import html


def in_page(svg: str, name: str) -> str:
    """The picture as an image in HTML: its styles do not reach the page. Tools that make other
    pages of a notebook, such as nbconvert, keep it whole; they clean an <svg> element."""
    data = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(name)}" '
        'style="max-width:100%;height:auto">'
    )
