import test from 'ava'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { ClusterMissing, type ClusterConnections } from '../../core/clusters/ports.ts'
import { steadyConnections } from '../../core/clusters/connections.ts'
import type { ClusterConnection } from '../../core/clusters/types.ts'
import type { ClusterId } from '../../core/kernel/ids.ts'

const id = 4 as ClusterId
const away = new Error('the database is away')

const start = () => {
  const state: { now: number; answer: 'missing' | 'away' | number } = { now: 0, answer: 1 }
  const connections: ClusterConnections = {
    async open() {
      if (state.answer === 'away') throw away
      return state.answer === 'missing' ? left(ClusterMissing('gone')) : right({ link: { version: state.answer } } as ClusterConnection)
    },
  }
  const steady = steadyConnections(connections, () => state.now)
  const versionNow = async (): Promise<number> => {
    const opened = await steady.open(id)
    return isRight(opened) ? opened.right.link.version : Number.NaN
  }
  return { state, versionNow }
}

test('a changed credential counts at once while the database answers, the last one while it is away for a moment', async (t) => {
  const { state, versionNow } = start()
  t.is(await versionNow(), 1)
  state.answer = 2
  t.is(await versionNow(), 2)
  state.answer = 'away'
  state.now = 25_000
  t.is(await versionNow(), 2)
  state.now = 25_001
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 3
  t.is(await versionNow(), 3)
})

test('what was never opened, or is gone, is not remembered', async (t) => {
  const { state, versionNow } = start()
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
  state.answer = 1
  t.is(await versionNow(), 1)
  state.answer = 'missing'
  t.is(await versionNow(), Number.NaN)
  state.answer = 'away'
  await t.throwsAsync(versionNow, { is: away })
})
