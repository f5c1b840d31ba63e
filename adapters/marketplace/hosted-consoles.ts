import { definedFields } from '../../core/kernel/json.ts'
import type { HostedConsoles } from '../../core/marketplace/ports.ts'
import type { Marketplace } from '../../core/marketplace/types.ts'
import { EgressRefused } from '../outbound/egress-policy.ts'
import type { GuardedFetch } from '../outbound/guarded-fetch.ts'
import { FetchFailed } from '../outbound/guarded-fetch.ts'

const timeoutMilliseconds = 10_000
/** The answer has no body. */
const limitBytes = 64 * 1024

const clouds: Readonly<Record<Marketplace, string>> = { CloudA: 'cloudA', CloudB: 'cloudB', CloudC: 'cloudC' }

/** HostedConsoles by a GET of the metering proxy of the installation. Its token goes to its origin alone. */
export const makeHostedConsoles = (fetch: GuardedFetch): HostedConsoles => ({
  async faultOf(marketplace, { url, token }, signal) {
    const target = `${url}/api/v1/proxy/metered-billing/marketplaces/${clouds[marketplace]}/check/readiness`
    const authorization = token === undefined ? undefined : `Bearer ${token.reveal()}`
    try {
      const { status, release } = await fetch(
        { url: new URL(target), secrets: definedFields({ authorization }), limitBytes, timeoutMilliseconds },
        signal,
      )
      release?.()
      return status === 200 ? undefined : `The installation answers ${status}, not 200.`
    } catch (error) {
      if (error instanceof FetchFailed || error instanceof EgressRefused) return error.message
      return 'The installation does not answer.'
    }
  },
})
