import { existsSync, readFileSync } from 'node:fs'
import test from 'ava'
import 'reflect-metadata'
import { ownPlugins } from '../support/declared-routes.ts'
import type { AsvsTable } from './asvs-table.ts'
import { asvsMarkdown, fromRoot, linesOf, readAsvsTable, tableProblems, unprovenLines } from './asvs-table.ts'
import { clustersDrawingPath, drawArchitecture, drawingPath, usageDrawingPath } from './draw-architecture.ts'
import { drawClusters } from './draw-clusters.ts'
import { drawUsage } from './draw-usage.ts'

const read = (path: string): string | undefined =>
  existsSync(fromRoot(path)) ? readFileSync(fromRoot(path), 'utf8') : undefined

test('each claimed line of the ASVS table names tests and documents that are there', (t) => {
  const table = readAsvsTable()
  t.deepEqual(tableProblems(table, read), [])
  t.true(linesOf(table).filter(({ state }) => state === 'claimed').length > 40)
})

test('docs/asvs.md is made from docs/asvs.json', (t) => {
  t.is(read('docs/asvs.md'), asvsMarkdown(readAsvsTable()))
})

const sample = (line: Partial<AsvsTable['chapters'][number]['lines'][number]>): AsvsTable => ({
  version: '5.0.0',
  chapters: [{ name: 'V6', lines: [{ id: '6.1', level: 1, what: 'something', state: 'claimed', ...line }] }],
})

test('a claim without proof, with a test that is not there, or twice, is found', (t) => {
  const files = (path: string) => (path === 'a.test.ts' ? "test('it holds', ...)" : undefined)
  t.deepEqual(tableProblems(sample({ tests: [{ file: 'a.test.ts', title: 'it holds' }] }), files), [])
  for (const wrong of [
    {},
    { tests: [{ file: 'a.test.ts', title: 'it does not' }] },
    { tests: [{ file: 'b.test.ts', title: 'it holds' }] },
    { documents: ['none.md'] },
    { state: 'not claimed' as const },
  ]) {
    t.is(tableProblems(sample(wrong), files).length, 1, JSON.stringify(wrong))
  }
})

test('a named test that did not pass leaves its line unproven', (t) => {
  const table = sample({ tests: [{ file: 'a.test.ts', title: 'it holds' }] })
  t.is(unprovenLines(table, []).length, 1)
  t.is(unprovenLines(table, ['identity › a › it holds not']).length, 1)
  t.deepEqual(unprovenLines(table, ['identity › a › mysql: it holds']), [])
  t.deepEqual(unprovenLines(table, ['it holds']), [])
})

test('the picture shows the present plugins (redraw: npm run docs:draw)', (t) => {
  t.is(readFileSync(drawingPath, 'utf8'), drawArchitecture(ownPlugins))
})

test('the picture of hubs and spokes is current (redraw: npm run docs:draw)', (t) => {
  t.is(readFileSync(clustersDrawingPath, 'utf8'), drawClusters())
})

test('the picture of usage is current (redraw: npm run docs:draw)', (t) => {
  t.is(readFileSync(usageDrawingPath, 'utf8'), drawUsage())
})

test('a plugin’s text cannot break the picture', (t) => {
  const drawn = drawArchitecture([{ id: 'a<b>&c', summary: 'x '.repeat(200), gate: 'vendor-hosted' }])
  t.regex(drawn, /plugins\/a&lt;b&gt;&amp;c \(vendor-hosted\)/)
})
