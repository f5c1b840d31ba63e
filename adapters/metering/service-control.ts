import { readFile } from 'node:fs/promises'
import type { auth, servicecontrol, servicecontrol_v1 } from '@googleapis/servicecontrol'
import { isObject, listAt, textAt } from '../../core/kernel/json.ts'
import type { CheckError, ServiceControl } from '../../core/marketplace/metering/ports.ts'
import type { ProviderResult, ReportAnswer, ServiceOperation } from '../../core/marketplace/metering/types.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import { badAnswer, loadProvider, notConfigured, refused, throttledFor, unreached, within } from './sending.ts'

const packageName = '@googleapis/servicecontrol'

/** The part of the package that is used. */
interface ServiceControlSdk {
  readonly auth: typeof auth
  readonly servicecontrol: typeof servicecontrol
}
const loadControl = (): Promise<ServiceControlSdk> => import('@googleapis/servicecontrol')

export interface CloudCOptions {
  /** The key file of the service account that reports; undefined: the credentials of the environment. */
  readonly keyFile: string | undefined
  /** Where usage is reported instead of at the provider. */
  readonly endpoint: string | undefined
  readonly egress: EgressClient
  readonly deadlineMilliseconds?: number
  /** Replaces the package in tests. */
  readonly load?: () => Promise<ServiceControlSdk>
}

const defaultDeadlineMilliseconds = 10_000
const vendorOrigin = 'https://servicecontrol.googleapis.com'
const scope = 'https://www.googleapis.com/auth/servicecontrol'
const retries = 2

type Client = servicecontrol_v1.Servicecontrol
type JWT = InstanceType<ServiceControlSdk['auth']['JWT']>
type GoogleAuth = InstanceType<ServiceControlSdk['auth']['GoogleAuth']>

/**
 * Returns credentials whose token is signed by the key itself: nothing but usage is sent. Only the address and the key
 * of the file are used.
 */
const keyOf = async (sdk: ServiceControlSdk, keyFile: string): Promise<JWT> => {
  const file: unknown = JSON.parse(await readFile(keyFile, 'utf8'))
  const [email, key] = [textAt(file, 'client_email'), textAt(file, 'private_key')]
  if (email === '' || key === '') throw new Error('It has no client_email or no private_key.')
  const jwt = new sdk.auth.JWT({ email, key, scopes: [scope] })
  jwt.useJWTAccessWithScope = true
  return jwt
}

/**
 * Returns the credentials that the package finds: those of the workload, by the metadata server of the machine, or the
 * file that `GOOGLE_APPLICATION_CREDENTIALS` names. Tokens are exchanged by the rules for requests to outside; the
 * metadata server, at its fixed address, is asked by the package itself.
 */
const found = async (sdk: ServiceControlSdk, { egress }: CloudCOptions): Promise<GoogleAuth> => {
  const fetchImplementation = egress.fetch as unknown as typeof fetch
  const transporterOptions = { fetchImplementation }
  const google = new sdk.auth.GoogleAuth({ scopes: [scope], clientOptions: { transporterOptions } })
  await google.getClient()
  return google
}

const valueOf = ({ value }: ServiceOperation): servicecontrol_v1.Schema$MetricValue =>
  'int64' in value ? { int64Value: String(value.int64) } : { doubleValue: value.double }

const bodyOf = (operation: ServiceOperation): servicecontrol_v1.Schema$Operation => {
  const times = { startTime: operation.start.toISOString(), endTime: operation.end.toISOString() }
  return {
    operationId: operation.operationId,
    operationName: operation.operationName,
    consumerId: operation.consumerId,
    ...times,
    metricValueSets: [{ metricName: operation.metricName, metricValues: [{ ...valueOf(operation), ...times }] }],
  }
}

interface GoogleError {
  readonly message?: string
  readonly response?: { readonly status?: number; readonly data?: unknown; readonly headers?: Headers }
}

/**
 * Returns what an error of the package means. A refusal has the status of the provider, such as `PERMISSION_DENIED`.
 */
const resultOf = (error: unknown, tries: number): ProviderResult<never> => {
  const { response } = error as GoogleError
  if (response?.status === undefined) return unreached(error, tries)
  const status = textAt(response.data, 'error', 'status')
  if (status === '') return badAnswer(new Error(`The provider answers ${response.status} without a code.`), tries)
  const said = refused(status, textAt(response.data, 'error', 'message'), tries)
  if (response.status === 429) return throttledFor(said, response.headers?.get('retry-after'))
  return response.status < 500 || said.kind === 'failed' ? said : { ...said, kind: 'failed', mayBeRecorded: true }
}

/** ServiceControl over the provider's package, which is loaded at the first report. It repeats requests as they are. */
export const makeServiceControl = (options: CloudCOptions): ServiceControl => {
  const { load = loadControl, keyFile, endpoint = vendorOrigin, egress } = options
  const { deadlineMilliseconds = defaultDeadlineMilliseconds } = options
  let client: Client | undefined

  const ask = async <A>(
    send: (client: Client, settings: object) => Promise<{ readonly data: unknown }>,
    read: (answer: ReportAnswer) => A,
  ): Promise<ProviderResult<A>> => {
    const sdk = await loadProvider(packageName, load)
    if ('kind' in sdk) return sdk
    try {
      client ??= sdk.servicecontrol({
        version: 'v1',
        auth: keyFile === undefined ? await found(sdk, options) : await keyOf(sdk, keyFile),
        rootUrl: `${endpoint}/`,
      })
    } catch (error) {
      const message =
        keyFile === undefined
          ? 'No credentials of the provider are found in the environment, and no key file is configured.'
          : 'The key file of the provider cannot be read.'
      return notConfigured(message, new Error(errorName(error)))
    }
    let tries = 0
    const fetchImplementation = (async (input: string | URL, init: RequestInit = {}) => {
      tries += 1
      return egress.fetch(String(input), {
        method: init.method ?? 'GET',
        headers: [...new Headers(init.headers)],
        body: init.body === undefined || init.body === null ? null : String(init.body as string),
        signal: AbortSignal.any([ended, AbortSignal.timeout(Math.ceil(deadlineMilliseconds / 3))]),
      })
    }) as unknown as typeof fetch
    const ended = AbortSignal.timeout(deadlineMilliseconds)
    try {
      const { data } = await send(client, {
        fetchImplementation,
        responseType: 'json',
        retry: true,
        retryConfig: {
          retry: retries,
          noResponseRetries: retries,
          retryDelay: deadlineMilliseconds / 50,
          httpMethodsToRetry: ['POST'],
        },
      })
      if (!isObject(data)) return badAnswer(new Error('The answer is not a JSON object.'), tries)
      return { kind: 'accepted', answer: read(data), attempts: tries }
    } catch (error) {
      // The credentials come before the request, and have answers of their own.
      if (tries === 0)
        return notConfigured(
          'The credentials of the provider are refused, or cannot be had.',
          new Error(errorName(error)),
        )
      return resultOf(error, tries)
    }
  }

  return {
    check: (operation) =>
      within(deadlineMilliseconds, () =>
        ask(
          (control, settings) =>
            control.services.check(
              { serviceName: operation.serviceName, requestBody: { operation: bodyOf(operation) } },
              settings,
            ),
          (answer) => listAt(answer, 'checkErrors').map(checkErrorOf),
        ),
      ),
    report: (operation) =>
      within(deadlineMilliseconds, () =>
        ask(
          (control, settings) =>
            control.services.report(
              {
                serviceName: operation.serviceName,
                requestBody: { operations: [{ ...bodyOf(operation), userLabels: { ...operation.labels } }] },
              },
              settings,
            ),
          (answer) => answer,
        ),
      ),
  }
}

const errorName = (error: unknown): string => {
  const { code, name, message } = error as { readonly code?: string; readonly name?: string; readonly message?: string }
  return code ?? (error instanceof SyntaxError ? 'It is not JSON.' : (message ?? name ?? 'unknown'))
}

const checkErrorOf = (error: unknown): CheckError => ({
  code: textAt(error, 'code') === '' ? 'ERROR_CODE_UNSPECIFIED' : textAt(error, 'code').slice(0, 64),
  detail: textAt(error, 'detail').slice(0, 1000),
})
