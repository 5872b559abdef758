// Counts words.
function count(text) {
  const counts = new Map();
  for (const word of text.split(/\s+/).filter(Boolean)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

export function words(text) {
  return [...count(text)].sort();
}
