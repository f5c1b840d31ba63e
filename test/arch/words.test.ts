// process: own - reads the whole tree
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import test from 'ava'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * What the text of this repository does not say: the pattern, what to write instead, and a line in which it must be
 * found.
 */
const words: readonly (readonly [pattern: RegExp, instead: string, example: string])[] = [
  [/\bwhoever\b/i, 'a noun: the caller, the user', '// Whoever asks gets it.'],
  [/\bnobody\b/i, 'no user, no caller', "'Nobody can sign up here.'"],
  [/\bsomebody\b/i, 'another user, a person', '| somebody else |'],
  [/\bwhatever it\b/i, 'any', '// Refused, whatever it says.'],
  [/\b(is|are|was|were) told\b|\btold so\b/i, 'is notified, gets, returns', '// The owner is told by mail.'],
  [/\btells whether\b/i, 'returns whether', '/** Tells whether there is one. */'],
  [/\bthe begin\b|\bbegins? of\b/i, 'the start', '/** The begin of the path. */'],
  [/\bstands? (in|at|on|as|there|twice|once)\b/i, 'is', "'The value stands in the answer.'"],
  [/\blies? (in|at) the\b/i, 'is', "'The expiry lies in the past.'"],
  [/\bmeanwhile\b/i, 'during the request, by another request', "'It was changed meanwhile.'"],
  [/\bforetell/i, 'estimate', '/** Foretells the answer. */'],
  [/\banew\b/i, 'again', '// It is drawn anew.'],
  [/\b(in use|is one|in|asked) no more\b(?! than)/i, 'no longer', '// The name is in use no more.'],
  [/\b(may be|is) had\b/i, 'is available', '// Where no lock is had.'],
  [/\b(thereof|therein)\b/i, 'of it, in it', '// A part thereof.'],
  [/\bin the way\b/i, 'prevents, blocks, the reasons', "'A firewall may be in the way.'"],
  [/\blooked? (on|at anew)\b/i, 'checked, inspected', '// Looked on as one.'],
  [/\b(is|are|be|been) barred\b/i, 'is refused', '// The member is barred.'],
  [/\blets? (in|nobody)\b/i, 'admits, gives access', "'The organization lets in members.'"],
  [/\b(goes|went) on\b/i, 'continues, resumes', "'The task goes on.'"],
  [/\bas whom\b/i, 'the user on whose behalf', "'The user as whom an admin acts.'"],
]

/** The true uses, by file and line. */
const exceptions: readonly (readonly [file: string, part: string])[] = [
  // A merged migration is never edited.
  ['adapters/sql/audit/migrations.ts', 'where an audit chain goes on after its oldest rows were retired'],
]

const files = execFileSync('git', ['-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  encoding: 'utf8',
})
  .split('\0')
  .filter(
    (file) =>
      /\.(ts|js|cjs|md|yaml)$/.test(file) &&
      !file.startsWith('test/arch/fixtures/') &&
      file !== 'test/arch/words.test.ts' &&
      existsSync(root + file),
  )

/**
 * In tests, only text of three words or more is read: a word alone is a value there, such as the name of a missing
 * user.
 */
const sentences = /(['"`])(?:(?!\1)[^\\\n]|\\.)* (?:(?!\1)[^\\\n]|\\.)* (?:(?!\1)[^\\\n]|\\.)*\1/g
const textOf = (file: string, line: string): string =>
  file.startsWith('test/') ? (line.match(sentences) ?? []).join(' ') : line

const found = (file: string, line: string): readonly string[] =>
  exceptions.some(([excepted, part]) => file === excepted && line.includes(part))
    ? []
    : words
        .filter(([pattern]) => pattern.test(textOf(file, line)))
        .map(([pattern, instead]) => `${String(pattern)}: write ${instead}`)

test('comments, messages, titles and pages are in plain English', (t) => {
  t.true(files.length > 500)
  t.deepEqual(
    files.flatMap((file) =>
      readFileSync(root + file, 'utf8')
        .split('\n')
        .flatMap((line, at) => found(file, line).map((why) => `${file}:${at + 1}: ${why}`)),
    ),
    [],
  )
})

test('each word is found in its example', (t) => {
  for (const [pattern, , example] of words)
    t.true(
      found('core/a.ts', example).some((why) => why.startsWith(String(pattern))),
      String(pattern),
    )
  t.is(found('test/a.test.ts', "test('whoever asks gets it', (t) => {").length, 1)
  t.is(found('test/a.test.ts', "send('GET', '/users/nobody')").length, 0)
})

test('each exception is a line of the tree', (t) => {
  for (const [file, part] of exceptions) t.true(readFileSync(root + file, 'utf8').includes(part), file)
})

const declaredTitles = /\btest(?:\.serial)?\(\s*(['"`])((?:(?!\1)[^\\]|\\.)+)\1,/gi

test('test titles have at most 80 characters, one clause and a subject', (t) => {
  const titles = files
    .filter((file) => file.startsWith('test/') && file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(root + file, 'utf8').matchAll(declaredTitles)].map(([, , title = '']) => ({
        file,
        title: title.replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'x'),
      })),
    )
  t.true(titles.length > 2000)
  t.deepEqual(
    titles.filter(({ title }) => title.length > 80 || title.includes('; ') || /^(what|whatever|who) /i.test(title)),
    [],
  )
})
