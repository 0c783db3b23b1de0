"""The model behind one door: gateway, Gemini, the offline model, prices."""
