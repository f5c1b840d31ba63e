import anyTest, { type TestFn } from 'ava'
import { isSwitchedOff, type ComponentName } from './names.ts'

/**
 * ava's `test` for cases that need real components: when one of them is switched off by
 * `--without`, every case declared with it is reported as skipped (never as passed).
 *
 *     const test = needing('mariadb')
 *     test('a row comes back', async (t) => { const db = (await databaseServer())! ... })
 */
export function needing<Context = unknown>(...names: ComponentName[]): TestFn<Context> {
  const test = anyTest as TestFn<Context>
  if (!names.some((name) => isSwitchedOff(name))) return test
  const skipped = test.skip.bind(test)
  const nothing = () => undefined
  const hook = Object.assign(nothing, { always: nothing, skip: nothing })
  return Object.assign(skipped, {
    after: hook,
    afterEach: hook,
    before: hook,
    beforeEach: hook,
    failing: skipped,
    only: skipped,
    serial: skipped,
    skip: skipped,
    macro: test.macro,
    meta: test.meta,
    todo: test.todo,
  }) as unknown as TestFn<Context>
}
