import type { FreeObject, Json } from '../../../core/kernel/json.ts'
import { definedFields, toWireJson } from '../../../core/kernel/json.ts'
import type { ChartTexts } from '../../../core/packages/charts/ports.ts'
import type { ObjectPrinter } from '../../../core/packages/editors/manifests.ts'
import { plainJson } from '../../../core/packages/charts/value-tables.ts'
import { YamlAnswer } from '../../kit/reply.ts'
import type { EditorRemoval } from './codecs.ts'

/** Returns `json` or `yaml`, or the default of the route for any other value. */
const formatOf = (asked: string | undefined, otherwise: 'json' | 'yaml'): 'json' | 'yaml' => (asked === 'json' || asked === 'yaml' ? asked : otherwise)

/** Converts numbers to what charts expect: `1.0` is an ordinary number here. */
export const toModel = (body: FreeObject): FreeObject => plainJson(body) as FreeObject

export const modelAnswer = async (model: FreeObject, asked: string | undefined, texts: Pick<ChartTexts, 'print'>): Promise<FreeObject | YamlAnswer> =>
  formatOf(asked, 'json') === 'yaml' ? new YamlAnswer(await texts.print(model)) : model

export const printerOf = (asked: string | undefined, texts: Pick<ChartTexts, 'print'>): ObjectPrinter =>
  formatOf(asked, 'yaml') === 'json' ? { ending: 'json', print: (object) => Promise.resolve(toWireJson(object)) } : { ending: 'yaml', print: (object) => texts.print(object) }

/** Returns the subject of a removal from the flat form or the model. The flat form takes precedence. */
export const removalSubject = ({ metadata, group, version, name, kind, scope, releaseName, namespace }: EditorRemoval): FreeObject => {
  const within = (key: string): FreeObject => {
    const value: Json | undefined = metadata === undefined ? undefined : metadata[key]
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as FreeObject) : {}
  }
  return {
    metadata: {
      resource: { ...within('resource'), ...definedFields({ group, version, name, kind, scope }) },
      release: { ...within('release'), ...definedFields({ name: releaseName, namespace }) },
    },
  }
}
