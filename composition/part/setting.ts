import type { SettingType } from './setting-type.ts'

/** The variables of the environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The facts that are known when a default that depends on another setting is computed. */
export interface DefaultBasis {
  readonly dataDir: string
}

/** A setting. The YAML key is the name of the variable without `MOORAGE_`, in lower case. */
export interface SettingRow<A, Presence extends 'always' | 'maybe' = 'always' | 'maybe'> {
  readonly env: `MOORAGE_${string}`
  readonly type: SettingType<A>
  readonly description: string
  /** The default as text, or a function that computes it. Without one the setting may be absent. */
  readonly fallback?: string | ((basis: DefaultBasis) => string)
  /** A description of the default, when it is not plain text. */
  readonly fallbackText?: string
  /** The variable after which the setting is listed; by default the one before it in its part, or the last. */
  readonly after?: `MOORAGE_${string}`
  readonly __presence?: Presence
}

/** Settings by the names under which they are read. */
export type SettingRows = Readonly<Record<string, SettingRow<unknown>>>

type ValueOf<Row> =
  Row extends SettingRow<infer A, infer Presence> ? ('maybe' extends Presence ? A | undefined : A) : never

/** The values of settings, parsed and typed; paths are absolute, secrets are wrapped. */
export type ValuesOf<Rows> = { readonly [Name in keyof Rows]: ValueOf<Rows[Name]> }

type Extra = Pick<SettingRow<unknown>, 'fallbackText' | 'after'>

export const withDefault = <A>(
  env: SettingRow<A>['env'],
  type: SettingType<A>,
  fallback: string | ((basis: DefaultBasis) => string),
  description: string,
  extra: Extra = {},
): SettingRow<A, 'always'> => ({ env, type, fallback, description, ...extra })

export const absentUnlessSet = <A>(
  env: SettingRow<A>['env'],
  type: SettingType<A>,
  description: string,
  extra: Extra = {},
): SettingRow<A, 'maybe'> => ({ env, type, description, ...extra })

/** Returns the YAML key of a setting. */
export const fileKey = (row: Pick<SettingRow<unknown>, 'env'>): string => row.env.slice('MOORAGE_'.length).toLowerCase()

/** Returns the settings of a part among those of the deployment, typed by the rows of the part. */
export const valuesOf = <S extends object, Rows extends SettingRows>(settings: S, _rows: Rows): S & ValuesOf<Rows> =>
  settings as S & ValuesOf<Rows>
