import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { haproxyFile } from '../../deployment/example-files.ts'
import { programOf } from '../../deployment/programs.ts'
import { startProcess } from '../../support/components/background-process.ts'
import { reservedPort } from '../../support/components/reserved-port.ts'
import { makeServerCertificate } from '../../support/server-certificate.ts'
import { until } from '../../support/until.ts'
import { compareProcessors, questions, takePrecedence, type Scaled } from './equal-processors.ts'
import type { MeasureRow, RowInput } from './row.ts'

/** Instances on one database behind the example of HAProxy, with its TLS and its checks. */
const behindProxy = async ({ lab }: RowInput, count: number): Promise<Scaled & { stop(): Promise<void> }> => {
  const folder = join(lab.folder, `haproxy-${count}`)
  mkdirSync(join(folder, 'keys'), { recursive: true, mode: 0o700 })
  const { certificatePem, keyPem } = await makeServerCertificate('haproxy')
  writeFileSync(join(folder, 'moorage.pem'), certificatePem + keyPem, { mode: 0o600 })
  const port = await reservedPort()
  const databaseUrl = await (await lab.mariaDb()).createDatabase()
  const instances = []
  for (let index = 1; index <= count; index += 1) {
    const ops = await reservedPort()
    const service = await lab.service({
      name: `instance ${index} of ${count}`,
      databaseUrl,
      settings: {
        MOORAGE_KEYRING: join(folder, 'keys', 'keyring.json'),
        MOORAGE_OPS_LISTEN: `127.0.0.1:${ops}`,
        MOORAGE_BASE_URL: `https://127.0.0.1:${port}`,
        MOORAGE_TRUSTED_PROXIES: '127.0.0.1/32',
        MOORAGE_TLS: 'false',
      },
    })
    instances.push({ api: service.port, ops, pid: service.pid, baseUrl: service.baseUrl })
  }
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, haproxyFile({ folder, port, instances }))
  const program = await programOf('haproxy')
  const proxy = startProcess({ name: 'haproxy', file: program, arguments: ['-db', '-f', file], folder })
  const service = { baseUrl: instances[0]?.baseUrl ?? '', port, ca: certificatePem }
  await until('HAProxy takes connections', async () => {
    if (proxy.hasEnded()) throw new Error(proxy.output())
    return isOpen(port)
  })
  return { ...service, processors: instances.map(({ pid }) => [pid]), stop: () => proxy.stop() }
}

/** Row 37. */
export const twoInstances: MeasureRow = async (input) => {
  const endPrecedence = takePrecedence()
  const stops: (() => Promise<void>)[] = []
  const started = async (count: number): Promise<Scaled> => {
    const scaled = await behindProxy(input, count)
    stops.push(scaled.stop)
    return scaled
  }
  try {
    return await compareProcessors(input.bench, {
      row: '37',
      name: 'two instances, HAProxy',
      against: 'one instance, HAProxy',
      two: await started(2),
      one: await started(1),
      asked: [questions.user, questions.changes, questions.permissions],
    })
  } finally {
    for (const stop of stops) await stop()
    endPrecedence()
  }
}

const isOpen = (port: number): Promise<true | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const answer = (found: true | undefined): void => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => answer(true)).once('error', () => answer(undefined))
  })
