// process: own - starts services without their database
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import anyTest from 'ava'
import type { ExecutionContext } from 'ava'
import { StartRefused } from '../../composition/part/boot.ts'
import { makeStartPatience } from '../../composition/runtime/service/start-patience.ts'
import { needing } from '../support/components/needing.ts'
import { migratedMysqlUrl } from '../support/databases.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { cleanEnvironment, mainFile } from '../support/service-process.ts'
import { testEnvironment } from '../support/service.ts'
import { until } from '../support/until.ts'

const test = needing('mariadb')

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** Starts `serve` without waiting for it. */
const startServing = async (t: ExecutionContext, settings: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-waiting-'))
  const opsPort = await freePort()
  const environment = cleanEnvironment({
    TMPDIR: folder,
    ...(await testEnvironment(folder, 'sqlite')),
    MOORAGE_OPS_LISTEN: `127.0.0.1:${opsPort}`,
    MOORAGE_TLS: 'false',
    ...settings,
  })
  const child = spawn(process.execPath, [mainFile, 'serve'], { env: environment, cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const readyz = async (): Promise<{ readonly status: number; readonly text: string } | undefined> => {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz?verbose`).catch(() => undefined)
    return answer && { status: answer.status, text: await answer.text() }
  }
  const livez = async () => (await fetch(`http://127.0.0.1:${opsPort}/livez`)).status
  return { child, exited, readyz, livez, output: () => output }
}

test('a start waits for an unavailable database and then continues', async (t) => {
  const url = new URL(await migratedMysqlUrl())
  const link = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
  t.teardown(() => link.close())
  url.port = String(link.port)
  // Half-open: the first statements of the start get no answer.
  link.pause()
  const service = await startServing(t, {
    MOORAGE_DATABASE_URL: url.href,
    MOORAGE_DATABASE_TIMEOUT_SECONDS: '1',
  })
  const waiting = await until('it waits', async () => {
    const found = await service.readyz()
    return found?.text.includes('[-] started: The database ') === true ? found : undefined
  })
  t.is(waiting.status, 503)
  t.is(await service.livez(), 200)
  t.regex(service.output(), /the database is away: the start waits for it \(MOORAGE_DATABASE_WAIT_SECONDS\)/)
  t.is(service.child.exitCode, null)
  link.resume()
  await until('it is ready', async () => ((await service.readyz())?.status === 200 ? true : undefined))
  service.child.kill('SIGTERM')
  t.is(await service.exited, 0)
})

anyTest('a signal ends a start that waits', async (t) => {
  const url = `mysql://root@127.0.0.1:${await freePort()}/moorage`
  const service = await startServing(t, { MOORAGE_DATABASE_URL: url })
  await until('it waits', async () => {
    const found = await service.readyz()
    return found?.text.includes('ECONNREFUSED') === true ? true : undefined
  })
  service.child.kill('SIGTERM')
  t.is(await service.exited, 0)
})

anyTest('a start ends at once where it is not to wait', async (t) => {
  const url = `mysql://root@127.0.0.1:${await freePort()}/moorage`
  const service = await startServing(t, { MOORAGE_DATABASE_URL: url, MOORAGE_DATABASE_WAIT_SECONDS: '0' })
  t.is(await service.exited, 1)
  t.regex(service.output(), /cannot be used: .*ECONNREFUSED/)
})

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
const away = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
const denied = Object.assign(new Error('Access denied'), { code: 'ER_ACCESS_DENIED_ERROR', errno: 1045 })

anyTest('pauses of a start grow to 10 s, and end within the bound', async (t) => {
  const pauses: number[] = []
  let now = 0
  const patience = makeStartPatience({
    waitSeconds: 60,
    log: silent,
    nowMs: () => now,
    pause: async (ms) => {
      pauses.push(ms)
      now += ms
    },
  })
  const problem = new StartRefused(['The database cannot be used.'], away)
  const error = await t.throwsAsync(
    patience.run(() => Promise.reject(problem)),
    { instanceOf: StartRefused },
  )
  t.is(error, problem)
  t.deepEqual(pauses.slice(0, 6), [500, 1_000, 2_000, 4_000, 8_000, 10_000])
  t.is(now, 60_000)
  t.is(patience.waitsFor(), 'The database cannot be used.')
})

anyTest('a start does not wait where waiting does not help', async (t) => {
  const patience = makeStartPatience({ waitSeconds: 60, log: silent, pause: () => Promise.reject(new Error('waited')) })
  for (const error of [denied, new StartRefused(['no'], denied), new StartRefused(['no']), new Error('a bug')])
    t.is(await t.throwsAsync(patience.run(() => Promise.reject(error))), error)
})
