import { arrowAlong, box, label, picture } from './svg-parts.ts'

const [width, height] = [1080, 430]

const card = (x: number, y: number, w: number, h: number, name: string, lines: readonly string[]): string =>
  [
    box(x, y, w, h, 'card'),
    label(x + 14, y + 23, name, 'name'),
    ...lines.map((text, line) => label(x + 14, y + 42 + line * 16, text, 'small')),
  ].join('\n')

const layer = (x: number, y: number, w: number, h: number, title: string, text: string): string =>
  [box(x, y, w, h, 'layer'), label(x + 20, y + 28, title, 'title'), label(x + 20, y + 48, text, 'small')].join('\n')

/** From events of clusters to reports: what is stored in between, and when. */
export const drawUsage = (): string =>
  picture(width, height, 'From events to reports', [
    layer(30, 30, 210, 360, 'clusters', 'of an organization or user'),
    card(46, 100, 178, 92, 'objects', ['created, resized,', 'deleted; each change', 'has its generation']),
    card(46, 210, 178, 92, 'the cluster', ['a heartbeat each hour;', 'its mode']),

    layer(330, 30, 240, 360, 'events', 'stored at once, in any order'),
    card(346, 100, 208, 76, 'intervals of objects', ['CPU and memory by second,', 'cut at the ends of months']),
    card(346, 192, 208, 60, 'presence', ['the hours a cluster was heard']),
    card(346, 268, 208, 60, 'modes, outages', ['from when to when']),

    layer(630, 30, 420, 360, 'close of a month', 'provisional on day 1 at 00:30 UTC, final 72 hours later'),
    card(646, 100, 186, 92, 'segments', ['where mode, contract and', 'presence of a cluster', 'are the same']),
    card(850, 100, 184, 92, 'sums', ['exact integers:', 'milli-core-seconds,', 'MiB-seconds']),
    card(646, 224, 388, 60, 'views', ['JSON and CSV of objects, clusters, kinds, contracts']),
    card(646, 308, 388, 60, 'report', ['PDF of the same figures']),

    arrowAlong('M 224 146 H 342'),
    arrowAlong('M 224 256 H 342'),
    label(250, 138, 'HTTP or', 'small'),
    label(250, 166, 'message bus', 'small'),
    arrowAlong('M 554 138 H 642'),
    arrowAlong('M 832 146 H 846'),
    arrowAlong('M 942 192 V 220'),
    arrowAlong('M 840 284 V 304'),
  ])
