import { left, right } from 'fp-ts/lib/Either.js'
import { readEgressTarget, type EgressTarget } from '../adapters/outbound/egress-allowance.ts'
import type { SettingType } from './setting-type.ts'

/** One entry of MOORAGE_EGRESS_ALLOW. */
export const egressTarget: SettingType<EgressTarget> = {
  schema: { type: 'string', minLength: 1 },
  isSecret: false,
  show: ({ text }) => text,
  parse: (raw) => {
    const target = typeof raw === 'string' ? readEgressTarget(raw.trim()) : undefined
    return target === undefined ? left('a host (charts.example.com, charts.example.com:8443, *.example.com), an address or a range (10.0.0.0/8)') : right(target)
  },
}
