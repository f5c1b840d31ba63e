import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { setTimeout as sleep } from 'node:timers/promises'
import { reservedPort } from '../../support/components/reserved-port.ts'
import { bars } from '../bars.ts'
import { cpuSeconds, residentMegabytes } from '../process-figures.ts'
import { startBenchService } from '../service-process.ts'
import type { MeasureRow } from './row.ts'

const perSecond = 1000
const tickMilliseconds = 10
const secret = 'the-secret-of-the-bench'

/** Thirds: an application that is new, its provisioning, and the same notification of it again. */
const notificationsOf = (count: number): readonly string[] => {
  const at = new Date().toISOString().slice(0, 19)
  return Array.from({ length: Math.ceil(count / 3) }, () => {
    const name = randomUUID()
    const applicationId = `/subscriptions/${name}/resourceGroups/g/providers/Microsoft.Solutions/applications/product`
    const put = (provisioningState: string, ticks: string) =>
      JSON.stringify({ eventType: 'PUT', applicationId, eventTime: `${at}.${ticks}Z`, provisioningState })
    const provisioned = put('Succeeded', '1000002')
    return [put('Accepted', '1000001'), provisioned, provisioned]
  }).flat()
}

interface Sent {
  /** From the instant at which it was due to its answer, also where it was sent again; sorted. */
  readonly milliseconds: readonly number[]
  /** Answers 503: the service is busy, and the sender sends again after the time that `Retry-After` names. */
  readonly busy: number
  readonly firstReason: string
}

/** Sends at a steady rate, whatever the answers do. */
const sendSteadily = async (port: number, bodies: readonly string[]): Promise<Sent> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const path = `/marketplace/api/v1/marketplaces/cloudB/notification/resource?secret=${secret}`
  let [busy, firstReason] = [0, '']
  interface Answer {
    readonly status: number | undefined
    readonly text: string
    readonly retryAfterSeconds: number
  }
  const answerTo = (body: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (answer) => {
        const retryAfterSeconds = Number(answer.headers['retry-after'] ?? 0)
        text(answer).then((said) => resolve({ status: answer.statusCode, text: said, retryAfterSeconds }), reject)
      })
      sent.once('error', reject)
      sent.end(body)
    })
  const send = async (body: string): Promise<number> => {
    const dueAt = performance.now()
    let answer = await answerTo(body)
    for (; answer.status === 503; answer = await answerTo(body)) {
      busy += 1
      firstReason ||= answer.text
      await sleep(answer.retryAfterSeconds * 1000)
    }
    if (answer.status !== 200) throw new Error(`a notification was answered with ${answer.status} ${answer.text}`)
    return performance.now() - dueAt
  }
  const answers: Promise<number>[] = []
  const startedAt = performance.now()
  try {
    while (answers.length < bodies.length) {
      const due = Math.min(bodies.length, Math.floor(((performance.now() - startedAt) * perSecond) / 1000))
      for (const body of bodies.slice(answers.length, due)) answers.push(send(body))
      await sleep(tickMilliseconds)
    }
    return { milliseconds: (await Promise.all(answers)).sort((a, b) => a - b), busy, firstReason }
  } finally {
    await Promise.allSettled(answers)
    agent.destroy()
  }
}

/** The statements that the server has executed since its start. */
const statementsOf = async (databaseUrl: string): Promise<number> => {
  const connection = await createConnection(databaseUrl)
  try {
    const [rows] = await connection.query<RowDataPacket[]>("show global status like 'Questions'")
    return Number(rows[0]?.['Value'])
  } finally {
    await connection.end()
  }
}

/** Row 31. */
export const marketplaceNotifications: MeasureRow = async ({ lab, bench, run }) => {
  const seconds = run.quick ? 10 : 30
  const port = await reservedPort()
  const databaseUrl = await (await lab.mariaDb()).createDatabase()
  const service = await startBenchService({
    name: 'service of a marketplace',
    folder: lab.folder,
    profileFolder: run.profile,
    databaseUrl,
    settings: {
      MOORAGE_DEPLOYMENT_TYPE: 'CloudBMarketplaceDeployment',
      MOORAGE_MARKETPLACE_LISTEN: `127.0.0.1:${port}`,
      MOORAGE_MARKETPLACE_SECRET: secret,
      MOORAGE_PLUGINS: '',
    },
  })
  try {
    bench.progress.measuring('notifications of a marketplace', seconds + 5)
    await sendSteadily(port, notificationsOf(3 * perSecond))
    const statements = await statementsOf(databaseUrl)
    const [before, cpuBefore, startedAt] = [residentMegabytes(service.pid), cpuSeconds(service.pid), performance.now()]
    const { milliseconds, busy, firstReason } = await sendSteadily(port, notificationsOf(seconds * perSecond))
    const sent = milliseconds.length
    const rate = (sent * 1000) / (performance.now() - startedAt)
    const p99 = milliseconds[Math.floor(sent * 0.99)] ?? Number.NaN
    const executed = (await statementsOf(databaseUrl)) - statements
    const grown = residentMegabytes(service.pid, 'at most') - before
    return [
      {
        row: '31',
        what: `${seconds} s of ${perSecond} notifications a second, MariaDB`,
        ours: { perSecond: rate, p99Ms: p99, cpuUs: ((cpuSeconds(service.pid) - cpuBefore) * 1e6) / sent },
        against: '',
        value: p99,
        unit: ' ms',
        bar: bars.notifications,
        note: `a third is new, a third changes it, a third is repeated; ${(executed / sent).toFixed(1)} statements for each; the process grew by ${Math.round(grown)} MB, ${busy} answers were 503 and sent again ${firstReason}`.trimEnd(),
      },
    ]
  } finally {
    await service.stop()
  }
}
