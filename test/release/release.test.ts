import { readdirSync, readFileSync } from 'node:fs'
import test from 'ava'
import { fromRoot } from '../docs/asvs-table.ts'
import type { Fragment } from './changelog.ts'
import { changeClasses, fragmentProblems, releaseSection, withSection } from './changelog.ts'
import { checksums, provenance } from './provenance.ts'

const fragment = (kind: Fragment['kind'], name: string, text: string): Fragment => ({ kind, name, text })

test('a section has the classes in their order and the fragments by name', (t) => {
  const section = releaseSection('v2026.12.1', [
    fragment('fixed', 'b.md', '- Second.\n'),
    fragment('fixed', 'a.md', '- First,\n  in two lines.\n'),
    fragment('added', 'c.md', '- New.'),
  ])
  t.is(section, '## v2026.12.1\n\n### Added\n\n- New.\n\n### Fixed\n\n- First,\n  in two lines.\n- Second.\n')
})

test('a new section stands before the last release', (t) => {
  t.is(withSection('# Changelog\n\n## v1\n\n- x\n', '## v2\n\n- y\n'), '# Changelog\n\n## v2\n\n- y\n\n## v1\n\n- x\n')
  t.is(withSection('# Changelog\n', '## v1\n'), '# Changelog\n\n## v1\n')
})

test('a fragment that is no list is refused with its line', (t) => {
  t.deepEqual(fragmentProblems(fragment('fixed', 'a.md', '- One.\n- Two,\n  more.\n')), [])
  t.regex(fragmentProblems(fragment('fixed', 'a.md', '- One.\nTwo.\n'))[0] ?? '', /changelog\/fixed\/a\.md: line 2/)
  t.is(fragmentProblems(fragment('added', 'b.md', '')).length, 1)
})

test('the files of changelog/ belong to a class and are lists', (t) => {
  const folders = readdirSync(fromRoot('changelog'))
  t.deepEqual(
    folders.filter((name) => !changeClasses.some((kind) => kind === name)),
    [],
  )
  for (const kind of changeClasses.filter((each) => folders.includes(each)))
    for (const name of readdirSync(fromRoot(`changelog/${kind}`)))
      t.deepEqual(
        fragmentProblems(fragment(kind, name, readFileSync(fromRoot(`changelog/${kind}/${name}`), 'utf8'))),
        [],
      )
})

test('checksums suit sha256sum, and the provenance names files and commit', (t) => {
  const files = [{ name: 'a.tgz', sha256: 'ab'.repeat(32) }]
  t.is(checksums(files), `${'ab'.repeat(32)}  a.tgz\n`)
  const made = provenance(files, {
    repository: 'git+ssh://example.org/moorage.git',
    commit: 'c0ffee',
    tag: 'v1',
    node: 'v24.0.0',
    npm: '11.0.0',
    at: new Date(0),
  })
  t.deepEqual(made.subject, [{ name: 'a.tgz', digest: { sha256: 'ab'.repeat(32) } }])
  t.deepEqual(made.predicate.buildDefinition.resolvedDependencies[0]?.digest, { gitCommit: 'c0ffee' })
})

test('each port of the threat model exists', (t) => {
  const ports = new Set(
    readdirSync(fromRoot('core'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => [...readFileSync(fromRoot(`core/${name}`), 'utf8').matchAll(/portKey<[^(]*>\('([\w.-]+)'\)/g)])
      .map(([, id = '']) => id),
  )
  const named = [...readFileSync(fromRoot('docs/threat-model.md'), 'utf8').matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(
    ([, cell = '']) => [...cell.matchAll(/`([\w.-]+)`/g)].map(([, id = '']) => id),
  )
  t.true(named.length > 30)
  t.deepEqual(
    named.filter((id) => !ports.has(id) && !/UnitOfWork$/.test(id)),
    [],
  )
})
