import { rowNumbers, rowTitles, type RowNumber } from './bars.ts'

export interface BenchRun {
  readonly rows: readonly RowNumber[]
  readonly usersView: boolean
  readonly quick: boolean
  /** Also what takes many minutes. */
  readonly slow: boolean
  readonly size: 'full' | 'small'
  readonly json: string | undefined
  readonly profile: string | undefined
}

export type ParsedArguments =
  | { readonly kind: 'help' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'run'; readonly run: BenchRun }

const refused = (reason: string): ParsedArguments => ({ kind: 'refused', reason })

/** The rows and whether the user's view is wanted; or why the list is not understood. */
const parseOnly = (text: string): { readonly rows: readonly RowNumber[]; readonly usersView: boolean } | string => {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  if (words.length === 0) return '--only wants rows, as in --only 1,2,5'
  const unknown = words.find((word) => word !== 'user' && !rowNumbers.some((row) => String(row) === word))
  if (unknown !== undefined) return `"${unknown}" is no row; there are ${rowNumbers.join(', ')} and user`
  return { rows: rowNumbers.filter((row) => words.includes(String(row))), usersView: words.includes('user') }
}

/** Reads the command line. */
export function parseBenchArguments(args: readonly string[]): ParsedArguments {
  let only: { readonly rows: readonly RowNumber[]; readonly usersView: boolean } = { rows: rowNumbers, usersView: true }
  let quick = false
  let slow = false
  let size: BenchRun['size'] = 'full'
  let json: string | undefined
  let profile: string | undefined
  const left = args.flatMap((arg) =>
    /^--[a-z]+=/.test(arg) ? [arg.slice(0, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)] : [arg],
  )
  while (left.length > 0) {
    const option = left.shift() ?? ''
    if (option === '--help' || option === '-h') return { kind: 'help' }
    if (option === '--quick') {
      quick = true
      continue
    }
    if (option === '--slow') {
      slow = true
      continue
    }
    if (!['--only', '--size', '--json', '--profile'].includes(option))
      return refused(`unknown option ${option}; --help tells what there is`)
    const value = left.shift()
    if (value === undefined || value.startsWith('--')) return refused(`${option} wants a value; --help shows it`)
    if (option === '--only') {
      const parsed = parseOnly(value)
      if (typeof parsed === 'string') return refused(parsed)
      only = parsed
    } else if (option === '--size') {
      if (value !== 'full' && value !== 'small') return refused(`--size is full or small, not "${value}"`)
      size = value
    } else if (option === '--json') json = value
    else profile = value
  }
  return { kind: 'run', run: { ...only, quick, slow, size, json, profile } }
}

/** What `--help` prints. */
export function helpText(): string {
  const rows = rowNumbers.map((row) => `  ${String(row).padStart(4)}  ${rowTitles[row]}`).join('\n')
  return `Measures the service beside bare twins that do the same with as little code as possible.

  npm run bench                          everything, about ten minutes
  npm run bench -- --quick               a look in about four minutes: shorter slices, fewer rounds, small data
  npm run bench -- --only 1,2,5          these rows only
  npm run bench -- --only user           only the table beside kubectl proxy
  npm run bench -- --json bench.json     the figures of every slice too, for a machine to read

How to read it: both sides run at the same time on this machine and are loaded in turn, a slice of 1 to 2
seconds each, after a warm-up. 'measured' is the median over the rounds of ours against the twin of the same
round, 'best' compares the best slice of each. 'cpu us' is the CPU time of the server process for each
request, and 'cpu ratio' the twin's against ours: it is steadier than requests a second while others
use the machine. Requests a second of two runs must not be compared, ratios may be.

Options
  --only ROWS      rows by number and 'user', separated by commas
  --quick          shorter: warm-up from 3 s, 3 rounds of 1 s, --size small
  --slow           also the month of 10^7 intervals of row 26, a quarter of an hour
  --size small     10 000 users and 100 000 objects for row 11 instead of 100 000 and 1 000 000
  --json FILE      write everything that was measured to FILE
  --profile DIR    write a CPU profile of each service process into DIR (Chrome's dev tools show it); slows it down
  --help           this text

Rows (the bars are those of the performance notes, section 11)
${rows}
  user  a user's view: kubectl proxy beside our proxy

MariaDB, kube-apiserver and kubectl are those of \`npm test\`; openssl makes the certificate of the stub cluster.
Exit status: 0 measured, whatever the figures; 1 something could not be measured; 2 the arguments were not understood.
`
}
