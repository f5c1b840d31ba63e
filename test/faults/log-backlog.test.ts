// process: own - fills a disk and closes pipes
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import anyTest from 'ava'
import { startServiceProcess, type ServiceProcess } from '../support/service-process.ts'
import { startSmallDisk } from '../support/small-disk.ts'
import { until } from '../support/until.ts'

/** A service whose log cannot be written for a while says so, and drains its log afterwards. */

const folder = mkdtempSync(join(tmpdir(), 'moorage-log-'))
const disk = await startSmallDisk(1)
anyTest.after.always(async () => {
  await disk?.close()
  rmSync(folder, { recursive: true, force: true })
})
const onDisk = disk === undefined ? anyTest.skip : anyTest.serial

const requests = 30

const sendRequests = async (service: ServiceProcess, name: string): Promise<void> => {
  for (let sent = 0; sent < requests; sent += 1) await service.send('GET', `/api/v1/markdown/${name}${sent}`)
}

const readyz = async ({ opsUrl }: ServiceProcess, query = ''): Promise<string> =>
  (await fetch(`${opsUrl}/readyz${query}`)).text()

const metric = async ({ opsUrl }: ServiceProcess, name: string): Promise<number> => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const requestLines = (text: string): number =>
  text.split('\n').filter((line) => line.includes('"msg":"request"')).length

const untilDegraded = (service: ServiceProcess): Promise<string> =>
  until('the log is degraded', async () => {
    const text = await readyz(service)
    return text === 'degraded: log\n' ? text : undefined
  })

const untilReady = (service: ServiceProcess): Promise<true> =>
  until('the service is ready', async () => ((await readyz(service)) === 'ok\n' ? true : undefined))

onDisk('the log drains after its disk was full, and is degraded until then', async (t) => {
  const log = join(disk!.folder, 'log')
  const text = (): string => readFileSync(join(disk!.outside, 'log'), 'utf8')
  const service = await startServiceProcess({
    enter: [...disk!.enter, 'sh', '-c', 'log=$0; exec "$@" 2>>"$log"', log],
  })
  t.teardown(() => service.stop())
  await untilReady(service)
  const before = requestLines(text())
  disk!.fill()
  await sendRequests(service, 'full')
  await untilDegraded(service)
  t.regex(await readyz(service, '?verbose'), /^\[-\] log: it cannot be written \(ENOSPC\); \d+ characters wait/m)
  t.true((await metric(service, 'moorage_log_backlog_bytes')) > 0)
  t.true((await metric(service, 'moorage_log_backlog_seconds')) > 0)
  // Lines that arrive during the backlog, and after it.
  await sendRequests(service, 'waiting')
  disk!.free()
  await sendRequests(service, 'room')
  await until('all lines are written', () => (requestLines(text()) >= before + 3 * requests ? true : undefined))
  await untilReady(service)
  t.is(await metric(service, 'moorage_log_lines_lost_total'), 0)
})

/** A named pipe as the log of a service. Its reader is this process. */
const startOnPipe = async (name: string) => {
  const fifo = join(folder, name)
  execFileSync('mkfifo', [fifo])
  const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK)
  const buffer = Buffer.alloc(1 << 20)
  let text = ''
  const read = (): void => {
    try {
      for (let length = readSync(reader, buffer); length > 0; length = readSync(reader, buffer))
        text += buffer.toString('utf8', 0, length)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
  }
  const service = await startServiceProcess({ enter: ['sh', '-c', 'log=$0; exec "$@" 2>"$log"', fifo] })
  return { service, reader, text: () => (read(), text) }
}

anyTest.serial('the log is degraded while the reader of its pipe is too slow', async (t) => {
  const { service, reader, text } = await startOnPipe('slow')
  t.teardown(() => closeSync(reader))
  t.teardown(() => service.stop())
  // A pipe holds 64 KiB.
  const rounds = 20
  for (let round = 0; round < rounds; round += 1) await sendRequests(service, 'slow')
  await untilDegraded(service)
  t.regex(await readyz(service, '?verbose'), /^\[-\] log: its reader is too slow; \d+ characters wait/m)
  await until('all lines are read', () => (requestLines(text()) >= rounds * requests ? true : undefined))
  await untilReady(service)
  t.is(await metric(service, 'moorage_log_lines_lost_total'), 0)
})

anyTest.serial('the log is degraded after the reader of its pipe has closed it', async (t) => {
  const { service, reader } = await startOnPipe('closed')
  t.teardown(() => service.stop())
  closeSync(reader)
  await sendRequests(service, 'closed')
  await untilDegraded(service)
  t.regex(await readyz(service, '?verbose'), /^\[-\] log: it cannot be written \(EPIPE\); \d+ characters wait/m)
})
