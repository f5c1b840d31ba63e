import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ownPlugins } from '../support/declared-routes.ts'
import type { AnyPlugin } from '../../plugins/kit/plugin.ts'
import { drawClusters } from './draw-clusters.ts'
import { drawUsage } from './draw-usage.ts'
import { arrowAlong, box, label, picture } from './svg-parts.ts'

const width = 1080
const cardWidth = 300
const cardHeight = 66
const gap = 16
const left = 50

/** A sentence broken into at most two lines that fit a card. */
const lines = (text: string, max = 42): readonly string[] => {
  const broken: string[] = ['']
  for (const word of text.split(' ')) {
    const last = broken.at(-1) ?? ''
    if (last.length + word.length + 1 > max) broken.push(word)
    else broken[broken.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return broken.slice(0, 2)
}

const card = (plugin: Pick<AnyPlugin, 'id' | 'summary' | 'gate'>, index: number, top: number): string => {
  const x = left + 24 + (index % 3) * (cardWidth + gap)
  const y = top + Math.floor(index / 3) * (cardHeight + gap)
  const gate = plugin.gate === 'always' ? '' : ` (${plugin.gate})`
  return [
    box(x, y, cardWidth, cardHeight, 'card'),
    label(x + 14, y + 23, `plugins/${plugin.id}${gate}`, 'name'),
    ...lines(plugin.summary).map((text, line) => label(x + 14, y + 41 + line * 15, text, 'small')),
  ].join('\n')
}

const layer = (y: number, h: number, title: string, text: string): string =>
  [
    box(left, y, width - 2 * left, h, 'layer'),
    label(left + 24, y + 28, title, 'title'),
    label(left + 24, y + 48, text, 'small'),
  ].join('\n')

const arrow = (y: number, text: string): string =>
  [arrowAlong(`M ${width / 2} ${y} v 26`), label(width / 2 + 14, y + 19, text, 'small')].join('\n')

/** The house as it stands: listeners above, a card for each plugin of the list, core and adapters beneath. */
export const drawArchitecture = (list: readonly Pick<AnyPlugin, 'id' | 'summary' | 'gate'>[]): string => {
  const rows = Math.ceil(list.length / 3)
  const pluginsTop = 176
  const pluginsHeight = 70 + rows * (cardHeight + gap) + 8
  const coreTop = pluginsTop + pluginsHeight + 38
  const adaptersTop = coreTop + 66 + 38
  const height = adaptersTop + 124
  return picture(width, height, 'Architecture of Moorage', [
    label(width / 2, 30, 'API clients, browsers, kubectl, load balancers', 'title', 'middle'),
    arrow(38, 'HTTP and HTTPS on one port'),
    layer(
      72,
      66,
      'composition',
      'configuration, container, assembly; restify listeners: guard, authenticate, authorize, decode, encode, access log; operations listener',
    ),
    arrow(142, 'binds each declared route of every open plugin'),
    box(left, pluginsTop, width - 2 * left, pluginsHeight, 'layer'),
    label(left + 24, pluginsTop + 28, 'plugins', 'title'),
    label(
      left + 24,
      pluginsTop + 48,
      'route declarations, wire codecs, handlers; each part of the service is one plugin',
      'small',
    ),
    ...list.map((plugin, index) => card(plugin, index, pluginsTop + 62)),
    arrow(pluginsTop + pluginsHeight + 4, 'calls use cases'),
    layer(coreTop, 66, 'core', 'rules, use cases and ports; no HTTP, no SQL, no framework'),
    arrow(coreTop + 70, 'ports, kept by'),
    layer(
      adaptersTop,
      66,
      'adapters',
      'sql (SQLite, MySQL, MariaDB) · kubernetes (undici) · helm, charts, editors · bus (NATS) · outbound (egress policy) · security · logging · system',
    ),
    label(
      width / 2,
      adaptersTop + 100,
      'databases · Kubernetes API servers · chart repositories · helm · NATS · clock, entropy, files',
      'title',
      'middle',
    ),
  ])
}

export const drawingPath = new URL('../../docs/architecture.svg', import.meta.url)
export const clustersDrawingPath = new URL('../../docs/clusters.svg', import.meta.url)
export const usageDrawingPath = new URL('../../docs/usage.svg', import.meta.url)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(drawingPath, drawArchitecture(ownPlugins))
  writeFileSync(clustersDrawingPath, drawClusters())
  writeFileSync(usageDrawingPath, drawUsage())
  process.stdout.write(
    `docs/clusters.svg and docs/usage.svg drawn, docs/architecture.svg drawn from ${ownPlugins.length} plugins\n`,
  )
}
