import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A test that shows what a line claims. */
interface NamedTest {
  /** From the root of the repository. */
  readonly file: string
  /** As declared; a title that is declared for each database stands without its name. */
  readonly title: string
}

/** One requirement of the standard. `what` is ours, short; the standard's own text decides. */
export interface AsvsLine {
  readonly id: string
  readonly level: 1 | 2 | 3
  readonly what: string
  readonly state: 'claimed' | 'partly' | 'not claimed' | 'does not apply'
  /** Needed where the state is not `claimed`: what is missing, or why it does not apply. */
  readonly why?: string
  /** Needed where the state is `claimed` or `partly`. A document counts where the requirement is for one. */
  readonly tests?: readonly NamedTest[]
  readonly documents?: readonly string[]
}
export interface AsvsTable {
  readonly version: string
  readonly chapters: readonly { readonly name: string; readonly lines: readonly AsvsLine[] }[]
}

const root = new URL('../../', import.meta.url)
export const fromRoot = (path: string): string => fileURLToPath(new URL(path, root))

export const readAsvsTable = (): AsvsTable => JSON.parse(readFileSync(fromRoot('docs/asvs.json'), 'utf8')) as AsvsTable

export const linesOf = (table: AsvsTable): readonly AsvsLine[] => table.chapters.flatMap(({ lines }) => lines)
const isBacked = ({ state }: AsvsLine): boolean => state === 'claimed' || state === 'partly'

/** What is wrong with the table in itself, and with what it says of the repository; one entry a problem. */
export const tableProblems = (table: AsvsTable, read: (path: string) => string | undefined): readonly string[] => {
  const lines = linesOf(table)
  const ids = lines.map(({ id }) => id)
  return [
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id} is repeated`),
    ...lines.flatMap((line) => [
      ...(isBacked(line) && (line.tests ?? []).length + (line.documents ?? []).length === 0
        ? [`${line.id} names neither test nor document`]
        : []),
      ...(line.state !== 'claimed' && (line.why ?? '') === '' ? [`${line.id} does not say why`] : []),
      ...(line.tests ?? []).flatMap(({ file, title }) => {
        const text = read(file)
        if (text === undefined) return [`${line.id}: there is no ${file}`]
        return text.includes(title) ? [] : [`${line.id}: ${file} declares no test "${title}"`]
      }),
      ...(line.documents ?? []).flatMap((file) =>
        read(file) === undefined ? [`${line.id}: there is no ${file}`] : [],
      ),
    ]),
  ]
}

/** Lines whose named test did not pass in a whole run. */
export const unprovenLines = (table: AsvsTable, passedTitles: readonly string[]): readonly string[] => {
  const passed = new Set(passedTitles.flatMap(spellings))
  return linesOf(table).flatMap((line) =>
    (line.tests ?? [])
      .filter(({ title }) => !passed.has(title))
      .map(({ file, title }) => `ASVS ${line.id}: no test "${title}" of ${file} passed`),
  )
}

/** A reported title, and its ends: `identity › lockout › mysql: it holds` is also `it holds`. */
const spellings = (reported: string): readonly string[] => {
  const title = reported.split(' › ').at(-1) ?? reported
  const cuts = [...title.matchAll(/: /g)].map((match) => title.slice(match.index + 2))
  return [title, ...cuts]
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

const proofOf = (line: AsvsLine): string =>
  [
    ...(line.why === undefined ? [] : [line.why]),
    ...(line.tests ?? []).map(({ file, title }) => `\`${file}\`: ${title}`),
    ...(line.documents ?? []).map(
      (file) => `[${file}](${file.startsWith('docs/') ? file.slice('docs/'.length) : `../${file}`})`,
    ),
  ].join('<br>')

/** The table for people. */
export const asvsMarkdown = (table: AsvsTable): string => {
  const lines = linesOf(table)
  const count = (state: AsvsLine['state']): number => lines.filter((line) => line.state === state).length
  const chapters = table.chapters.map(({ name, lines: own }) =>
    [
      `## ${name}`,
      '',
      '| line | level | what | state | shown by, or why not |',
      '| --- | --- | --- | --- | --- |',
      ...own.map(
        (line) => `| ${line.id} | ${line.level} | ${cell(line.what)} | ${line.state} | ${cell(proofOf(line))} |`,
      ),
    ].join('\n'),
  )
  return [
    `# What Moorage claims of the OWASP ASVS ${table.version}`,
    '',
    'Made from `asvs.json` by `npm run docs:asvs`; the words are ours, the standard decides. Each claimed line names the tests that show it: a whole `npm test` fails when one of them did not pass. Chapters that are not listed are not claimed.',
    '',
    `${count('claimed')} lines claimed, ${count('partly')} partly, ${count('not claimed')} not claimed, ${count('does not apply')} do not apply.`,
    '',
    ...chapters.flatMap((chapter) => [chapter, '']),
  ].join('\n')
}
