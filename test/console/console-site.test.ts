import { gzipSync } from 'node:zlib'
import test from 'ava'
import { loadConsoleSite } from '../../adapters/console/console-site.ts'
import type { SiteModule } from '../../adapters/console/module-graph.ts'
import { nameModules } from '../../adapters/console/module-graph.ts'
import { part } from '../../composition/parts/console.ts'
import { makeSites } from '../../composition/runtime/http/pages/sites.ts'

const modulesOf = (sources: Readonly<Record<string, string>>): ReadonlyMap<string, SiteModule> =>
  new Map(
    Object.entries(sources).map(([key, source]) => [
      key,
      { source, resolve: (specifier: string) => specifier.slice(2) },
    ]),
  )

const nameOf = (sources: Readonly<Record<string, string>>, key: string): string =>
  nameModules(modulesOf(sources)).nameOf(key)

test('a module gets another name when one that it imports changes', (t) => {
  const sources = { 'a.js': "import './b.js'", 'b.js': "export const c = import('./c.js')", 'c.js': '1' }
  t.is(nameOf(sources, 'a.js'), nameOf(sources, 'a.js'))
  t.not(nameOf(sources, 'a.js'), nameOf({ ...sources, 'c.js': '2' }, 'a.js'))
  t.is(nameOf(sources, 'c.js'), nameOf({ ...sources, 'a.js': '2' }, 'c.js'))
})

test('only specifiers of imports are rewritten', (t) => {
  const sources = {
    'a.js': "import { b } from './b.js'\nconst text = \"import './b.js'\" // import './b.js'\nimport('./b.js')\n",
    'b.js': 'export const b = import.meta.url',
  }
  const named = nameModules(modulesOf(sources))
  const b = named.nameOf('b.js')
  t.is(
    named.files.get(named.nameOf('a.js')),
    `import { b } from './${b}'\nconst text = "import './b.js'" // import './b.js'\nimport('./${b}')\n`,
  )
  t.deepEqual(named.closureOf('a.js'), [named.nameOf('a.js'), b])
})

test('modules that import each other, or something unknown, are refused', (t) => {
  t.throws(() => nameModules(modulesOf({ 'a.js': "import './b.js'", 'b.js': "import('./a.js')" })), {
    message: /circle/,
  })
  t.throws(() => nameModules(modulesOf({ 'a.js': "import './b.js'" })), { message: /no module b.js/ })
})

const site = loadConsoleSite()

test('the first view loads at most 60 KB', (t) => {
  const home = [...site.files.keys()].find((name) => name.startsWith('screens-home.')) ?? ''
  const lazy = [...(site.files.get(home)?.text.matchAll(/from\s*'\.\/([^']+)'/g) ?? [])].map((found) => found[1] ?? '')
  const loaded = new Set([...site.scripts, ...site.styles, home, ...lazy])
  t.true(loaded.size > 20)
  const bytes = [...loaded].reduce((sum, name) => sum + gzipSync(site.files.get(name)?.text ?? '').length, 0)
  t.true(bytes <= 60_000, `${bytes} bytes`)
})

test('scripts of the console keep nothing in the browser but the view to return to', (t) => {
  for (const [name, { text }] of site.files)
    t.notRegex(
      text.replaceAll("sessionStorage.setItem('moorage-continue'", ''),
      /localStorage|sessionStorage|indexedDB|\bcaches\.|document\.cookie\s*=|\beval\(|new Function|innerHTML\s*=\s*['"`]</,
      name,
    )
})

const answers = makeSites(part.sites ?? [])

for (const [path, endsInSlash] of [
  ['/console', false],
  ['/console', true],
  ['/console/o', false],
  ['/console/o', true],
  ['/console/o/acme/clusters', false],
] as const)
  test(`the document at ${path}${endsInSlash ? '/' : ''} finds its files below any prefix`, (t) => {
    const html = String(answers(path, endsInSlash, undefined)?.body)
    const base = `https://example.com/prefix${path}${endsInSlash ? '/' : ''}`
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((found) => found[1] ?? '')
    const files = loaded.filter((target) => target.includes('/files/'))
    t.true(files.length > 10)
    for (const file of files) {
      const { pathname } = new URL(file, base)
      t.true(pathname.startsWith('/prefix/console/files/'), pathname)
      t.is(answers(pathname.slice('/prefix'.length), false, undefined)?.status, 200, pathname)
    }
  })

test('files are kept for ever, and the document is not', (t) => {
  const file = answers(`/console/files/${site.scripts[0]}`, false, 'gzip')
  t.like(file?.headers, { 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Encoding': 'gzip' })
  t.is(answers('/console', false, undefined)?.headers['Cache-Control'], 'no-cache')
  t.is(answers('/console/files/main.js', false, undefined), undefined)
  t.is(answers('/elsewhere', false, undefined), undefined)
})

test('the policy of the console allows scripts and styles of the service only', (t) => {
  const policy = String(answers('/console', false, undefined)?.headers['Content-Security-Policy'])
  t.deepEqual(
    policy.split('; ').filter((directive) => /^(?:default|script|style|trusted|require)/.test(directive)),
    [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ],
  )
})
