import test, { registerCompletionHandler } from 'ava'
import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FileLine } from './file-times.ts'

/*
 * Loaded by ava before each test file. Appends a line to the file that MOORAGE_TEST_TIMES names when the tests of the
 * file begin, and one when they have ended. Then it ends the process: what a test leaves open must not hold a place
 * among the files that run at a time.
 */

// ava switches them on. Node strips types and leaves every line where it is; reading the maps of all packages takes 70
// ms.
process.setSourceMapsEnabled(false)

const into = process.env['MOORAGE_TEST_TIMES']
const file = relative(process.cwd(), fileURLToPath(test.meta.file))
const note = (line: FileLine): void => {
  if (into !== undefined) appendFileSync(into, `${JSON.stringify(line)}\n`)
}
note({ begun: file })

/** A process that is alive this long after its last test has left something open. */
const lingerMs = 250

/** User and system seconds of this process and of the children that it has waited for. */
const cpuSeconds = (): { readonly own: number; readonly children: number } => {
  const { user, system } = process.cpuUsage()
  // Fields after the name: utime, stime, cutime, cstime are 12 to 15 of the remaining ones, in ticks of 10 ms.
  const fields =
    process.platform === 'linux'
      ? readFileSync('/proc/self/stat', 'utf8')
          .replace(/^.*\) /s, '')
          .split(' ')
      : []
  return { own: (user + system) / 1e6, children: (Number(fields[13] ?? 0) + Number(fields[14] ?? 0)) / 100 }
}

registerCompletionHandler(() => {
  const wallSeconds = performance.now() / 1000
  const leave = (leftOpen: readonly string[]): void => {
    note({ file, wallSeconds, ...cpuSeconds(), leftOpen })
    process.exit()
  }
  const linger = setTimeout(
    () => leave(process.getActiveResourcesInfo().filter((each) => each !== 'PipeWrap')),
    lingerMs,
  )
  linger.unref()
  process.once('beforeExit', () => leave([]))
})
