import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import sharp from 'sharp'
import { callApi, makeUser, type BenchUser } from '../api-calls.ts'
import { bars } from '../bars.ts'
import { startLoadGenerator } from '../load/load-generator.ts'
import type { LoadTarget } from '../load/protocol.ts'
import { getRequest, loadOn, postRequest } from '../requests.ts'
import type { BenchService } from '../service-process.ts'
import { median, ratio } from '../statistics.ts'
import { makeStubCertificate } from '../upstream/certificate.ts'
import { measureFairReads } from './fair-reads.ts'
import type { MeasureRow } from './row.ts'

/** Of the other tenant: as in row 15, the server has time to spare. */
const connections = 4
const pauseMilliseconds = 5
/** After each answer of the tenant that floods. */
const floodPauseMilliseconds = 20
const repositories = 12
/** A flood with fewer answers shows nothing: it was refused, or never began. */
const leastAnswers = 20
/** Versions in the index of each repository: about four megabytes. */
const versions = 30_000

const index = (): string =>
  `apiVersion: v1\nentries:\n  web:\n${Array.from(
    { length: versions },
    (_, at) => `  - {name: web, version: 1.0.${at}, urls: [web-${at}.tgz], digest: ${'a'.repeat(64)}}\n`,
  ).join('')}`

/** Serves a large index of a chart repository under every path. No validator, so that each request reads it again. */
const startRepository = async (keyPath: string, certificatePath: string): Promise<Server> => {
  const body = index()
  const server = createServer({ key: readFileSync(keyPath), cert: readFileSync(certificatePath) }, (_, res) =>
    res.end(body),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** A grey picture whose bytes are few and whose pixels are many. */
const picture = async (side: number): Promise<string> => {
  const drawn = sharp({ create: { width: side, height: side, channels: 3, background: '#808080' } })
  return (await drawn.png().toBuffer()).toString('base64')
}

/** What a tenant sends without end, and how many at the same time. */
const floodsOf = async (service: BenchService, user: BenchUser, origin: string): Promise<readonly LoadTarget[]> => {
  const slow = { pauseMilliseconds: floodPauseMilliseconds }
  const urls = Array.from({ length: repositories }, (_, at) => `${origin}/repository-${at}`)
  for (const [at, url] of urls.entries())
    await callApi(service, `/orgs/${user.login}/chartrepositories`, {
      authorization: `Bearer ${user.token}`,
      body: { name: `large-${at}`, url },
    })
  const charts = urls.map((url) =>
    getRequest(`/api/v1/chartrepositories/charts?url=${encodeURIComponent(url)}`, user.token),
  )
  const signIn = { username: user.login, password: user.password, remember: false }
  const searches = ['a', 'b', 'r'].map((text) => getRequest(`/api/v1/users/search?q=${text}&limit=50`, user.token))
  return [
    loadOn('charts', service.port, charts, 24, slow),
    loadOn('sign-ins', service.port, postRequest('/api/v1/user/signin', undefined, signIn), 8, slow),
    loadOn(
      'pictures',
      service.port,
      postRequest('/api/v1/user/avatar', user.token, { image: await picture(2000) }),
      8,
      {
        ...slow,
        expectedStatus: 204,
      },
    ),
    loadOn('searches', service.port, searches, 8, slow),
  ]
}

/** Row 36: a tenant asks while another floods the queues, one kind of work after the other. */
export const fairLimiter: MeasureRow = async ({ lab, bench, run }) => {
  const certificate = await makeStubCertificate(lab.folder)
  const repository = await startRepository(certificate.keyPath, certificate.certificatePath)
  const storm = startLoadGenerator()
  const seconds = run.quick ? 2 : 3
  const { rounds, warmUpSeconds } = bench.pace
  try {
    const service = await lab.service({
      name: 'service with a tenant that floods',
      settings: {
        MOORAGE_DEPLOYMENT_TYPE: 'VendorHosted',
        MOORAGE_BILLING_ENABLED: 'true',
        NODE_EXTRA_CA_CERTS: certificate.certificatePath,
        MOORAGE_EGRESS_ALLOW: '127.0.0.1',
      },
    })
    const other = await makeUser(service, 'bench-other')
    const origin = `https://127.0.0.1:${(repository.address() as AddressInfo).port}`
    const floods = await floodsOf(service, await makeUser(service, 'bench-flood'), origin)
    const calm = loadOn('others', service.port, getRequest('/api/v1/user', other.token), connections, {
      pauseMilliseconds,
    })
    bench.progress.measuring('requests while a tenant floods', warmUpSeconds + rounds * floods.length * 2 * seconds)
    await bench.generator.slice(calm, warmUpSeconds)
    const measured = floods.map((flood) => ({
      flood,
      idle: [] as number[],
      during: [] as number[],
      answers: 0,
      refused: 0,
      reason: '',
    }))
    for (let round = 0; round < rounds; round += 1) {
      bench.progress.round(round + 1, rounds)
      for (const each of measured) {
        each.idle.push((await bench.generator.slice(calm, seconds)).p99)
        const [others, flooding] = await Promise.all([
          bench.generator.slice(calm, seconds),
          storm.slice(each.flood, seconds),
        ])
        if (others.errors > 0) throw new Error(`a request of another tenant failed: ${others.firstError}`)
        each.during.push(others.p99)
        each.answers += flooding.answersInAll
        each.refused += flooding.errors
        each.reason ||= flooding.firstError ?? ''
      }
    }
    const reads = await measureFairReads({ bench, service, storm, seconds })
    await service.stop()
    const floodLines = measured.map(({ flood, idle, during, answers, refused, reason }) => ({
      row: '36',
      what: `others' p99 during a flood of ${flood.id}`,
      ours: { p99Ms: median(during) },
      against: 'the same, idle',
      twin: { p99Ms: median(idle) },
      value: answers < leastAnswers ? Number.NaN : median(during.map((each, round) => ratio(each, idle[round] ?? 0))),
      bestValue: ratio(Math.min(...during), Math.min(...idle)),
      unit: 'x' as const,
      bar: bars.fairLimiter,
      note: `${flood.connections} at the same time: ${answers} answers, ${refused} refused${reason === '' ? '' : ` (${reason})`}`,
    }))
    return [...floodLines, ...reads]
  } finally {
    storm.stop()
    repository.closeAllConnections()
    repository.close()
  }
}
