import type {
  MarketplaceMeteringClient,
  MarketplaceMeteringClientConfig,
  MeterUsageCommand,
  MeterUsageCommandInput,
} from '@aws-sdk/client-marketplace-metering'
import { definedFields } from '../../core/kernel/json.ts'
import type { CloudAMetering } from '../../core/marketplace/metering/ports.ts'
import type { MeterUsage, ProviderResult } from '../../core/marketplace/metering/types.ts'
import type { EgressClient } from '../outbound/egress-client.ts'
import { badAnswer, loadProvider, makePace, notConfigured, refused, throttledFor, unreached } from './sending.ts'

const packageName = '@aws-sdk/client-marketplace-metering'

/** The part of the package that is used. */
interface MeteringSdk {
  readonly MarketplaceMeteringClient: typeof MarketplaceMeteringClient
  readonly MeterUsageCommand: typeof MeterUsageCommand
}
const loadMetering = (): Promise<MeteringSdk> => import('@aws-sdk/client-marketplace-metering')

export interface CloudAOptions {
  /** Undefined: the environment of the process names it, as in containers of the provider. */
  readonly region: string | undefined
  /** Where usage is reported instead of at the provider. */
  readonly endpoint: string | undefined
  readonly egress: EgressClient
  readonly deadlineMilliseconds?: number
  /** Replaces the package in tests. */
  readonly load?: () => Promise<MeteringSdk>
}

const defaultDeadlineMilliseconds = 10_000
/** The provider takes ten a second of an account. */
const perSecond = 8
const attempts = 3

const inputOf = (usage: MeterUsage, clientToken: string): MeterUsageCommandInput => ({
  ProductCode: usage.productCode,
  Timestamp: usage.timestamp,
  UsageDimension: usage.dimension,
  ClientToken: clientToken,
  ...definedFields({
    UsageQuantity: usage.quantity,
    DryRun: usage.isDryRun ? true : undefined,
    UsageAllocations: usage.allocations?.map(({ quantity, tags }) => ({
      AllocatedUsageQuantity: quantity,
      ...(tags.length === 0 ? {} : { Tags: tags.map(({ key, value }) => ({ Key: key, Value: value })) }),
    })),
  }),
})

const endpointOf = (region: string): string =>
  `https://metering.marketplace.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`

/** The credentials are those of the instance, the task or the pod: the package finds them. */
const clientOf = async (
  sdk: MeteringSdk,
  { region, endpoint, egress, deadlineMilliseconds = defaultDeadlineMilliseconds }: CloudAOptions,
): Promise<MarketplaceMeteringClient> => {
  const config: MarketplaceMeteringClientConfig = {
    ...definedFields({ region }),
    requestHandler: {
      ...egress.agents,
      connectionTimeout: deadlineMilliseconds / 4,
      requestTimeout: deadlineMilliseconds / 4,
      throwOnRequestTimeout: true,
    },
    maxAttempts: attempts,
    retryMode: 'standard',
    defaultsMode: 'standard',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    authSchemePreference: ['sigv4'],
    userAgentAppId: 'moorage',
  }
  // Its own region has the sources of the package: a client without an endpoint is made to ask for it.
  const found = endpoint ?? endpointOf(await new sdk.MarketplaceMeteringClient(config).config.region())
  egress.check(new URL(found))
  return new sdk.MarketplaceMeteringClient({ ...config, endpoint: found })
}

interface SdkError {
  readonly name?: string
  readonly message?: string
  readonly $fault?: 'client' | 'server'
  readonly $metadata?: { readonly attempts?: number; readonly httpStatusCode?: number }
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> }
}

const unconfigured = /^(CredentialsProviderError|TokenProviderError|ProviderError)$/

/** Returns what an error of the package means. The provider's own errors have a fault. */
const resultOf = (error: unknown): ProviderResult<never> => {
  const { name = '', message = '', $fault, $metadata, $response } = error as SdkError
  const tries = $metadata?.attempts ?? 1
  if (unconfigured.test(name)) return notConfigured('No credentials of the provider are found.', error)
  if (message === 'Region is missing') return notConfigured('The region of the provider is not known.', error)
  if (error instanceof SyntaxError) return badAnswer(error, tries)
  if ($fault === undefined) return unreached(error, tries)
  const said = refused(name, message, tries)
  if ($metadata?.httpStatusCode === 429) return throttledFor(said, $response?.headers?.['retry-after'])
  if ($fault === 'client' || said.kind === 'failed') return said
  return { ...said, kind: 'failed', mayBeRecorded: true }
}

/** CloudAMetering over the provider's package, which signs and repeats requests. It is loaded at the first report. */
export const makeCloudAMetering = (options: CloudAOptions): CloudAMetering => {
  const { load = loadMetering, deadlineMilliseconds = defaultDeadlineMilliseconds } = options
  const pace = makePace(perSecond, deadlineMilliseconds)
  let client: MarketplaceMeteringClient | undefined
  const send = async (usage: MeterUsage, clientToken: string): Promise<ProviderResult<string>> => {
    const sdk = await loadProvider(packageName, load)
    if ('kind' in sdk) return sdk
    try {
      client ??= await clientOf(sdk, options)
      const answer = await client.send(new sdk.MeterUsageCommand(inputOf(usage, clientToken)), {
        abortSignal: AbortSignal.timeout(deadlineMilliseconds),
      })
      const tries = answer.$metadata.attempts ?? 1
      const { MeteringRecordId: id } = answer
      return typeof id === 'string' && id !== ''
        ? { kind: 'accepted', answer: id, attempts: tries }
        : badAnswer(new Error('The answer has no MeteringRecordId.'), tries)
    } catch (error) {
      return resultOf(error)
    }
  }
  return { report: (usage, clientToken) => pace.run(() => send(usage, clientToken)) }
}
