import 'reflect-metadata'
import { readFileSync } from 'node:fs'
import test from 'ava'
import { plugins } from '../../composition/plugins.ts'
import { drawArchitecture, drawingPath } from './draw-architecture.ts'

test('the picture in docs shows the plugins that there are (draw it again: npm run docs:draw)', (t) => {
  t.is(readFileSync(drawingPath, 'utf8'), drawArchitecture(plugins))
})

test('a plugin’s text cannot break the picture', (t) => {
  const drawn = drawArchitecture([{ id: 'a<b>&c', summary: 'x '.repeat(200), gate: 'vendor-hosted' }])
  t.regex(drawn, /plugins\/a&lt;b&gt;&amp;c \(vendor-hosted\)/)
})
