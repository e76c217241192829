package browser

import (
	"time"

	"github.com/chromedp/chromedp"
)

// text is the text of the page, with that of its frames.
const text = `() => [document, ...[...document.querySelectorAll("iframe")].map((f) => f.contentDocument)]
	.filter((d) => d && d.body).map((d) => d.body.innerText).join("\n")`

// shows is whether the page shows a text, whatever its white space.
const shows = `(wanted) => (` + text + `)().replace(/\s+/g, " ").includes(wanted.replace(/\s+/g, " "))`

// clicked clicks on what has the text, the innermost element, and is whether there was
// one.
const clicked = `(wanted) => {
	const found = [...document.querySelectorAll("a, button, [role=tab], [role=button]")]
		.filter((e) => e.offsetParent !== null && e.innerText.trim().startsWith(wanted));
	if (found.length > 0) found[found.length - 1].click();
	return found.length > 0;
}`

// findCut lists the texts below a frame that hides what does not fit and does not
// scroll, also those of frames that are pages themselves. Names that end in an ellipsis
// on purpose are none: the whole is told when one points at them.
const findCut = `(() => {
	const cut = new Set();
	const hides = (overflow) => overflow === "hidden" || overflow === "clip";
	const look = (page, height) => {
		const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
		for (let node = walker.nextNode(); node; node = walker.nextNode()) {
			if (!node.data.trim()) continue;
			const range = page.createRange();
			range.selectNodeContents(node);
			for (const box of range.getClientRects()) {
				if (height && box.bottom > height + 1) cut.add(node.data.trim());
				for (let frame = node.parentElement; frame && frame !== page.body; frame = frame.parentElement) {
					const style = page.defaultView.getComputedStyle(frame);
					if (style.display === "none" || style.visibility === "hidden" || style.textOverflow === "ellipsis") break;
					if (style.overflowY === "auto" || style.overflowY === "scroll") break;
					if (!hides(style.overflowY)) continue;
					const edge = frame.getBoundingClientRect();
					if (edge.height <= 1 || edge.width <= 1) break; // for those who hear the page
					if (box.bottom > edge.bottom + 1 || box.top < edge.top - 1) cut.add(node.data.trim());
				}
			}
		}
	};
	look(document, 0);
	for (const frame of document.querySelectorAll("iframe")) {
		if (frame.contentDocument && frame.contentDocument.body) look(frame.contentDocument, frame.clientHeight);
	}
	return [...cut];
})()`

// await calls a script with a text again and again until it is true.
func await(script, text string) chromedp.Action {
	return chromedp.PollFunction(script, nil, chromedp.WithPollingArgs(text),
		chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(patience))
}
