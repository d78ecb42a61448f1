"""A path that a notebook shows as a link."""

import html


class Report(str):
    def _repr_html_(self):
        return f'<a href="file://{html.escape(self, quote=True)}" target="_blank">{html.escape(self)}</a>'
