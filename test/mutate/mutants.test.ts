import test from 'ava'
import { mutantsOf } from './mutants.ts'

const changesIn = (text: string): readonly string[] =>
  mutantsOf('core/rule.ts', text).map(({ line, before, after }) => `${line}: ${before} -> ${after}`)

test('each decision of a file has a mutant', (t) => {
  t.deepEqual(changesIn('export const isFinal = (hours: number): boolean =>\n  hours >= 72 && !isOpen(hours)\n'), [
    '2: && -> ||',
    '2: >= -> >',
    '2: 72 -> 73',
    '2: !isOpen(hours) -> isOpen(hours)',
  ])
  t.deepEqual(changesIn('if (isLate) count += 1\n'), [
    '1: isLate -> !(isLate)',
    '1: count += 1 -> {}',
    '1: += -> -=',
    '1: 1 -> 2',
  ])
  t.deepEqual(changesIn('const a = b ?? (c ? true : false)\n'), [
    '1: b ?? (c ? true : false) -> (c ? true : false)',
    '1: c -> !(c)',
    '1: true -> false',
    '1: false -> true',
  ])
})

test('a mutant is the whole file with one change', (t) => {
  t.deepEqual(
    mutantsOf('core/rule.ts', 'const a = 1 < b\nconst c = 1_000\n').map(({ text }) => text),
    ['const a = 1 <= b\nconst c = 1_000\n', 'const a = 2 < b\nconst c = 1_000\n', 'const a = 1 < b\nconst c = 1001\n'],
  )
})

test('types, imports and texts have no mutants', (t) => {
  t.deepEqual(
    changesIn("import { a } from './a.ts'\ntype B = 1 | true\ninterface C {\n  d: 2\n}\nconst e: 3 = f('4' + g)\n"),
    [],
  )
})
