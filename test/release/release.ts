import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Fragment } from './changelog.ts'
import { changeClasses, fragmentProblems, releaseSection, withSection } from './changelog.ts'
import type { ReleasedFile } from './provenance.ts'
import { checksums, provenance } from './provenance.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const output = join(root, 'release')

const help = `Usage: npm run release -- [--dry-run] [VERSION]

Makes a release of the present commit: the section of CHANGELOG.md from the files of changelog/, the version in package.json and
core/platform/version.ts, a commit, a tag, and in release/ the package, its bill of materials (CycloneDX), SHA256SUMS and a provenance
statement. VERSION is YYYY.MM.DD, today by default. Nothing is published: push the tag and upload the files afterwards.

  --dry-run   print the section of the changelog, and change nothing
`

const run = (program: string, args: readonly string[]): string =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).trimEnd()

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The version of a day without zeros in front, which semantic versions do not have. */
const versionOf = (day: Date): string => `${day.getUTCFullYear()}.${day.getUTCMonth() + 1}.${day.getUTCDate()}`

const fragments = (): readonly Fragment[] =>
  changeClasses.flatMap((kind) => {
    const folder = join(root, 'changelog', kind)
    if (!existsSync(folder)) return []
    return readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => ({ kind, name, text: readFileSync(join(folder, name), 'utf8') }))
  })

const change = (file: string, edit: (text: string) => string): void => {
  const path = join(root, file)
  const before = readFileSync(path, 'utf8')
  const after = edit(before)
  if (after === before) throw new Error(`${file} does not have what is to be changed`)
  writeFileSync(path, after)
}

const writeVersion = (version: string, section: string, used: readonly Fragment[]): void => {
  change('CHANGELOG.md', (text) => withSection(text, section))
  change('core/platform/version.ts', (text) =>
    text.replace(/releaseVersion = 'v[^']+'/, `releaseVersion = 'v${version}'`),
  )
  run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version'])
  for (const { kind, name } of used) rmSync(join(root, 'changelog', kind, name))
}

const fileOf = (name: string): ReleasedFile => ({
  name,
  sha256: createHash('sha256')
    .update(readFileSync(join(output, name)))
    .digest('hex'),
})

/** Makes the files of a release from the tagged commit. */
const makeFiles = (version: string): void => {
  rmSync(output, { recursive: true, force: true })
  mkdirSync(output)
  say('Building and packing …')
  const packed = run('npm', ['pack', '--silent', '--pack-destination', output]).split('\n').at(-1) ?? ''
  const [archive, materials] = [`moorage-${version}.tgz`, `moorage-${version}.cdx.json`]
  if (packed !== archive) renameSync(join(output, packed), join(output, archive))
  say('Listing what is in it …')
  writeFileSync(
    join(output, materials),
    run('npm', ['sbom', '--omit', 'dev', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']),
  )
  const released = [fileOf(archive), fileOf(materials)]
  const statement = provenance(released, {
    repository: run('git', ['config', '--default', '', '--get', 'remote.origin.url']),
    commit: run('git', ['rev-parse', 'HEAD']),
    tag: `v${version}`,
    node: process.version,
    npm: run('npm', ['--version']),
    at: new Date(),
  })
  writeFileSync(join(output, 'provenance.json'), `${JSON.stringify(statement, undefined, 2)}\n`)
  writeFileSync(join(output, 'SHA256SUMS'), checksums([...released, fileOf('provenance.json')]))
}

const main = (): number => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean' }, help: { type: 'boolean' } },
  })
  if (values.help === true) {
    process.stdout.write(help)
    return 0
  }
  const version = positionals[0] ?? versionOf(new Date())
  const used = fragments()
  const problems = [
    ...(/^\d{4}\.\d{1,2}\.\d{1,2}$/.test(version) ? [] : [`${version} is not a version of the form YYYY.MM.DD`]),
    ...(used.length === 0 ? ['changelog/ has no files: there is nothing to release'] : []),
    ...used.flatMap(fragmentProblems),
    ...(values['dry-run'] === true || run('git', ['status', '--porcelain']) === ''
      ? []
      : ['the tree has changes that are not committed']),
  ]
  if (problems.length > 0) {
    process.stderr.write(`${problems.join('\n')}\n`)
    return 1
  }
  const section = releaseSection(`v${version}`, used)
  if (values['dry-run'] === true) {
    process.stdout.write(section)
    return 0
  }
  writeVersion(version, section, used)
  run('git', ['add', '--all'])
  run('git', ['commit', '--message', `chore(release): v${version}`])
  run('git', ['tag', '--annotate', `v${version}`, '--message', `v${version}`])
  makeFiles(version)
  say(`release/ has ${readdirSync(output).join(', ')}. Next: git push --follow-tags, then upload these files.`)
  return 0
}

process.exitCode = main()
