import test from 'ava'
import * as fc from 'fast-check'
import { shareRead } from '../../adapters/sql/authz/access-revisions.ts'

test('concurrent callers share one read that begins after their calls', async (t) => {
  const step = fc.constantFrom('ask', 'ask', 'ask', 'end', 'fail', 'wait')
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      let [clock, nowMs] = [0, 0]
      const open: { readonly begun: number; end(isWell: boolean): void }[] = []
      const begun: number[] = []
      const share = shareRead(
        () =>
          new Promise<number>((resolve, reject) => {
            const mine = (clock += 1)
            begun.push(mine)
            open.push({ begun: mine, end: (isWell) => (isWell ? resolve(mine) : reject(new Error('away'))) })
          }),
        () => nowMs,
        queueMicrotask,
      )
      const answers: Promise<void>[] = []
      const turn = async (): Promise<void> => {
        for (let round = 0; round < 10; round += 1) await Promise.resolve()
      }
      const ask = (): void => {
        const calledAt = (clock += 1)
        answers.push(
          share().then(
            (readAt) => void t.true(readAt > calledAt, `a read of ${readAt} for a call of ${calledAt}`),
            () => undefined,
          ),
        )
      }
      let isPatient = true
      for (const what of steps) {
        if (what === 'ask') ask()
        else if (what === 'wait') {
          nowMs += 60
          isPatient = false
        } else {
          open.shift()?.end(what === 'end')
          await turn()
        }
        if (isPatient) t.true(open.length <= 1, 'one read at a time')
      }
      await turn()
      for (let rest = open.shift(); rest !== undefined; rest = open.shift()) {
        rest.end(true)
        await turn()
      }
      await Promise.all(answers)
      t.true(begun.length <= answers.length)
    }),
  )
})

test('requests of one tick share a statement', async (t) => {
  let reads = 0
  const share = shareRead(async () => {
    reads += 1
    await new Promise((resolve) => setImmediate(resolve))
  })
  const first = Array.from({ length: 64 }, share)
  const second = first.map((answer) => answer.then(share))
  await Promise.all([...first, ...second])
  t.is(reads, 2)
})
