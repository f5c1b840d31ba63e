const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export const label = (x: number, y: number, text: string, style: string, anchor = 'start'): string =>
  `<text x="${x}" y="${y}" class="${style}" text-anchor="${anchor}">${escape(text)}</text>`

export const box = (x: number, y: number, w: number, h: number, style: string): string =>
  `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="10" class="${style}"/>`

/** An arrow along a path; the path is SVG path data. */
export const arrowAlong = (path: string, style = 'arrow'): string =>
  `<path d="${path}" class="${style}" marker-end="url(#tip)"/>`

const style = `
svg { font-family: system-ui, sans-serif; }
.page { fill: #f6f8f9; }
.layer { fill: #ffffff; stroke: #b9c7d0; }
.card { fill: #e7f2f4; stroke: #0b6070; }
.title { font-size: 17px; font-weight: 600; fill: #14212b; }
.name { font-size: 14px; font-weight: 600; fill: #0b4a56; }
.small { font-size: 12.5px; fill: #3d4d58; }
.arrow { stroke: #0b6070; stroke-width: 2; fill: none; }
.dashed { stroke: #0b6070; stroke-width: 2; stroke-dasharray: 6 5; fill: none; }
.tip { fill: #0b6070; }`

/** A picture of this size with these parts, on a page of its own colour. */
export const picture = (width: number, height: number, title: string, parts: readonly string[]): string =>
  `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${title}">`,
    `<style>${style}</style>`,
    '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L10 5 L0 10 z" class="tip"/></marker></defs>',
    box(0, 0, width, height, 'page'),
    ...parts,
    '</svg>',
  ].join('\n')}\n`
