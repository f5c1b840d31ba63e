// process: own - breaks what a service needs
import test from 'ava'
import { right } from 'fp-ts/lib/Either.js'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import { throttleOver } from '../identity/throttle.fixture.ts'
import { migratedMysqlUrl } from '../support/databases.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { isSwitchedOff } from '../support/components/names.ts'

if (!isSwitchedOff('mariadb')) {
  test('failures count locally while the store is down, and shared ones after', async (t) => {
    const url = new URL(await migratedMysqlUrl())
    const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
    const direct = await openDatabase(url.href)
    const proxied = new URL(url.href)
    proxied.hostname = proxy.host
    proxied.port = String(proxy.port)
    const broken = await openDatabase(proxied.href)
    t.teardown(async () => {
      await broken.close()
      await direct.close()
      await proxy.close()
    })
    const near = throttleOver(makeSqlAttemptCounters(broken), Date.now)
    const far = throttleOver(makeSqlAttemptCounters(direct), Date.now)
    const guess = async (throttle: typeof near, subject: UserId, isRight: boolean): Promise<string> => {
      const guarded = await throttle.guard({ kind: 'password', subject, sourceIp: '198.51.100.7' }, async () =>
        right(isRight ? 'it' : undefined),
      )
      return guarded.kind === 'judged' ? 'right' : guarded.kind
    }
    const [ada, bob] = [1 as UserId, 2 as UserId]
    for (let i = 0; i < 3; i++) t.is(await guess(near, ada, false), 'wrong')

    proxy.dropResponses()
    proxy.cut()
    t.is(await guess(near, bob, false), 'wrong')
    t.is(await guess(near, bob, false), 'wrong')
    t.is(await guess(near, bob, false), 'subject-locked')
    t.is(await guess(near, bob, true), 'subject-locked', 'a store that is away opens no account')

    proxy.resume()
    t.is(await guess(far, ada, false), 'wrong')
    t.is(await guess(far, ada, false), 'wrong')
    t.is(await guess(near, ada, true), 'subject-locked', 'the failures before are still there')
  })
}
