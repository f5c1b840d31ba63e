// What calls.mts uses of Node, so that no further package is needed.
declare const process: { readonly env: Readonly<Record<string, string | undefined>> }
declare const Buffer: { from(text: string): { toString(encoding: string): string } }
