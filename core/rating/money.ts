import { Big } from 'big.js'

/** An amount of money in minor units of its currency: cents of EUR, whole JPY, thousandths of KWD. */
export type MinorUnits = bigint

/** Currencies of ISO 4217 by the number of digits after the point. Those of funds and metals are left out. */
const currencies: Readonly<Record<0 | 2 | 3, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP ' +
    'CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES ' +
    'KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK ' +
    'NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB ' +
    'TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW',
  3: 'BHD IQD JOD KWD LYD OMR TND',
}

const digitsByCurrency: ReadonlyMap<string, number> = new Map(
  ([0, 2, 3] as const).flatMap((digits) => currencies[digits].split(' ').map((code) => [code, digits] as const)),
)

/** The digits after the point of a currency; undefined if the code is none that invoices can be in. */
export const digitsOf = (currency: string): number | undefined => digitsByCurrency.get(currency)

/**
 * Exact decimal numbers. Sums and products are exact; a quotient has 40 digits after the point, which is more than any
 * rounding of this part can see.
 */
const Exact = Big()
Exact.DP = 40
Exact.strict = true

export type Decimal = InstanceType<typeof Exact>

/** Returns an exact number of a decimal text or a whole number. */
export const decimal = (value: string | bigint): Decimal => new Exact(value.toString())

export const zero: Decimal = decimal('0')

/** Returns a number as decimal text without an exponent: `0.0001`. */
export const decimalText = (value: Decimal): string => value.toFixed()

const half = Exact.roundHalfUp
const up = Exact.roundUp

/** Returns the smallest whole number that is at least the quotient of two positive numbers. */
export const wholeUp = (value: Decimal, unit: Decimal): Decimal => value.div(unit).round(0, up)

/** Returns a number rounded to so many digits after the point, half away from zero. */
export const rounded = (value: Decimal, digits: number): Decimal => value.round(digits, half)

/** Returns an amount in minor units, rounded half away from zero: the only rounding of an invoice. */
export const toMinor = (amount: Decimal, digits: number): MinorUnits =>
  BigInt(
    amount
      .times(decimal(`1e${digits}`))
      .round(0, half)
      .toFixed(),
  )

/** Returns minor units as decimal text: `12.30`. */
export const minorText = (amount: MinorUnits, digits: number): string =>
  decimal(amount)
    .times(decimal(`1e-${digits}`))
    .toFixed(digits)

export const sumOf = (amounts: readonly MinorUnits[]): MinorUnits => amounts.reduce((sum, each) => sum + each, 0n)
