import { setTimeout as sleep } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import { openDatabase } from '../../adapters/sql/engine/database.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { migratedMysqlUrl, patient } from '../support/databases.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { startService, type TestService } from '../support/service.ts'

/** A service whose way to its MariaDB can be broken. */
export interface LinkedService {
  readonly service: TestService
  readonly link: FaultProxy
  /** Speaks to the server itself, whatever the link does. */
  readonly direct: SqlDatabase
}

/** Starts one; it ends with the test. The organization `home` is there already. */
export const startLinkedService = async (t: ExecutionContext): Promise<LinkedService> => {
  const url = new URL(await migratedMysqlUrl())
  const direct = await openDatabase(url.href, { mysql: patient })
  const link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
  url.port = String(link.port)
  const service = await startService({
    settings: { MOORAGE_DATABASE_URL: url.href, MOORAGE_DATABASE_TIMEOUT_SECONDS: '5', MOORAGE_TLS: 'false' },
  })
  t.teardown(async () => {
    link.resume()
    await service.stop()
    await direct.close()
    await link.close()
  })
  const home = await service.send('POST', '/api/v1/orgs', { token: service.adminToken, body: { username: 'home' } })
  if (home.status !== 201) throw new Error(home.text)
  return { service, link, direct }
}

/** Rejects when it takes longer than anybody would wait for one request. */
export const inTime = async <A>(what: string, work: Promise<A>, seconds = 30): Promise<A> => {
  const late = new AbortController()
  const tooLate = sleep(seconds * 1000, undefined, { signal: late.signal }).then(() => {
    throw new Error(`${what} did not end within ${seconds} s`)
  })
  tooLate.catch(() => undefined)
  try {
    return await Promise.race([work, tooLate])
  } finally {
    late.abort()
  }
}

/** Resolves with the text once readiness is told with this status, and for this reason where one is given. */
export const untilReadiness = async (opsUrl: string, status: number, reason = /^/): Promise<string> => {
  const deadline = Date.now() + 30_000
  for (;;) {
    const answer = await fetch(`${opsUrl}/readyz`)
    const text = await answer.text()
    if (answer.status === status && reason.test(text)) return text
    if (Date.now() > deadline) throw new Error(`/readyz still says ${answer.status} ${text}, not ${status}`)
    await sleep(50)
  }
}
