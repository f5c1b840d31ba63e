import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { definedFields } from '../../kernel/json.ts'
import type { Json } from '../../kernel/json.ts'
import { completedSource } from '../charts/source-refs.ts'
import { OrderRefused } from './ports.ts'
import type { BundleOptionView, PackageCard } from './types.ts'

/** A source as a client returns it. What is undefined has the defaults of the interface. */
export interface GivenSource {
  readonly apiGroup: string | undefined
  readonly kind: string | undefined
  readonly namespace: string | undefined
  readonly name: string
}

/** A chart as a client returns it: `selected` marks the choices. */
export interface GivenChart {
  readonly name: string
  readonly sourceRef: GivenSource
  readonly namespace: string | undefined
  readonly versions: readonly {
    readonly version: string
    readonly selected: boolean | undefined
    readonly valuesFile: string | undefined
    readonly valuesPatch: Json | undefined
  }[]
  readonly multiSelect: boolean | undefined
  readonly required: boolean | undefined
  readonly selected: boolean | undefined
}

/** A package as a client returns it. It must have exactly one of the three. */
export interface GivenPackage {
  readonly chart: GivenChart | undefined
  readonly bundle: GivenBundle | undefined
  readonly oneOf: { readonly description: string | undefined; readonly bundles: readonly GivenBundle[] } | undefined
}

/** A bundle as a client returns it. */
export interface GivenBundle {
  readonly name: string
  readonly version: string
  readonly sourceRef: GivenSource
  readonly packages: readonly GivenPackage[]
}

const cardsOf = ({ chart, bundle, oneOf }: GivenPackage): readonly PackageCard[] => {
  if (chart !== undefined) {
    const { sourceRef, namespace, versions, multiSelect, required, selected, name } = chart
    const options = versions.map(({ version, selected: isSelected, valuesFile, valuesPatch }) => ({
      version,
      ...definedFields({ selected: isSelected, valuesFile, valuesPatch }),
    }))
    const flags = { multiSelect: multiSelect === true, required: required === true, selected: selected === true }
    return [{ chart: { name, sourceRef: completedSource(sourceRef), ...definedFields({ namespace }), versions: options, ...flags } }]
  }
  if (bundle !== undefined) return [{ bundle: viewOf(bundle) }]
  return oneOf === undefined ? [] : [{ oneOf: { description: oneOf.description ?? '', bundles: oneOf.bundles.map(viewOf) } }]
}

const viewOf = ({ name, version, sourceRef, packages }: GivenBundle): BundleOptionView => ({
  name,
  version,
  sourceRef: completedSource(sourceRef),
  displayName: '',
  packages: packages.flatMap(cardsOf),
})

/** Reports whether each package is exactly one of the three, recursively through nested bundles. */
const isUnambiguous = ({ packages }: GivenBundle): boolean =>
  packages.every(({ chart, bundle, oneOf }) => {
    const isOne = [chart, bundle, oneOf].filter((each) => each !== undefined).length === 1
    return isOne && [...(bundle === undefined ? [] : [bundle]), ...(oneOf?.bundles ?? [])].every(isUnambiguous)
  })

/** Returns the parts of a client's bundle that an order depends on. Failure: OrderRefused if a package is not exactly one of the three. */
export const parseGivenBundle = (given: GivenBundle): Either<Failure<'OrderRefused'>, BundleOptionView> =>
  isUnambiguous(given) ? right(viewOf(given)) : left(OrderRefused('packages: each must have exactly one of chart, bundle and oneOf.'))
