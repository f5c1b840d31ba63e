import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as httpRequest } from 'node:http'
import test from 'ava'
import { startFakeKubernetes, type FakeKubernetes, type SeenRequest } from '../../support/fake-kubernetes.ts'
import { makeSendJson } from '../../support/send-json.ts'
import { startService, type TestService } from '../../support/service.ts'
import { expectStatus, importCluster } from '../cluster-fixture.ts'

/** The whole service between a raw client and an API server that shows what reached it. */
export let service: TestService
export let fake: FakeKubernetes
export let proxy: string

test.before(async () => {
  fake = await startFakeKubernetes()
  service = await startService()
  await expectStatus(
    importCluster(makeSendJson(service.baseUrl), service.adminToken, 'admin', 'wire', fake.kubeconfig()),
    200,
  )
  await expectStatus(
    importCluster(makeSendJson(service.baseUrl), service.adminToken, 'admin', 'wire', fake.kubeconfig()),
    422,
  )
  proxy = '/api/v1/clusters/admin/wire/proxy'
})

test.after.always(async () => {
  await service.stop()
  await fake.stop()
})

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** Header names and values go out exactly as given. */
export const raw = (
  method: string,
  path: string,
  headers: readonly string[],
  body?: Buffer | string,
): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { hostname, port, host } = new URL(service.baseUrl)
    const sent = httpRequest(
      {
        hostname,
        port,
        method,
        path,
        headers: ['Host', host, 'Authorization', `Bearer ${service.adminToken}`, ...headers],
        setDefaultHeaders: false,
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
        )
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })

export const seenAt = (path: string): SeenRequest => {
  const found = fake.seen.find(({ url }) => url.startsWith(path))
  if (found === undefined) throw new Error(`nothing reached ${path}`)
  return found
}
export const valuesOf = ({ headers }: SeenRequest, name: string): string[] =>
  headers.filter(([each]) => each === name).map(([, value]) => value)

/** Not chained: restify, in the same process, replaces `writeHead` with one that answers nothing. */
export const reply = (
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: Buffer | string,
): void => {
  res.writeHead(status, headers)
  res.end(body)
}

export const answering = (path: string, answer: (req: IncomingMessage, res: ServerResponse) => void): void =>
  fake.on(path, answer)
