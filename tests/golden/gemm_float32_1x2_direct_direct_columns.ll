; ModuleID = "gemm_float32_1x2_direct_direct_columns"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"gemm_float32_1x2_direct_direct_columns"(ptr %"descriptor", ptr %"frame")
{
entry:
  %v36 = alloca i8, i32 192, align 64
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 16
  %v2 = load i64, ptr %v1, align 8
  %v3 = getelementptr i64, ptr %"frame", i64 17
  %v4 = load i64, ptr %v3, align 8
  %v5 = getelementptr i64, ptr %"frame", i64 18
  %v6 = load i64, ptr %v5, align 8
  %v7 = getelementptr i64, ptr %"frame", i64 19
  %v8 = load i64, ptr %v7, align 8
  %v9 = getelementptr i64, ptr %"frame", i64 25
  %v10 = load i64, ptr %v9, align 8
  %v11 = icmp ne i64 %v10, 0
  %v12 = getelementptr i64, ptr %"descriptor", i64 16
  %v13 = load i64, ptr %v12, align 8
  %v14 = getelementptr i64, ptr %"frame", i64 %v13
  %v15 = load ptr, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %"frame", i64 9
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i64, ptr %"descriptor", i64 9
  %v19 = load ptr, ptr %v18, align 8
  %v20 = mul i64 %v17, 8
  %v21 = getelementptr i8, ptr %v19, i64 %v20
  %v22 = getelementptr i64, ptr %"frame", i64 26
  %v23 = load ptr, ptr %v22, align 8
  %v24 = getelementptr i64, ptr %v23, i64 8
  %v25 = load i64, ptr %v24, align 8
  %v26 = getelementptr i64, ptr %"frame", i64 24
  %v27 = load i64, ptr %v26, align 8
  %v28 = icmp ne i64 %v27, 0
  %v29 = icmp eq i64 %v25, 2
  %v30 = xor i1 %v29, -1
  %v31 = and i1 %v28, %v30
  %v32 = getelementptr i64, ptr %v23, i64 9
  %v33 = load i64, ptr %v32, align 8
  %v34 = icmp ne i64 %v33, 0
  %v35 = icmp ne i64 %v25, 0
  %v37 = getelementptr i64, ptr %"descriptor", i64 0
  %v38 = load i64, ptr %v37, align 8
  %v39 = getelementptr i64, ptr %"frame", i64 %v38
  %v40 = load ptr, ptr %v39, align 8
  %v41 = getelementptr i64, ptr %"descriptor", i64 1
  %v42 = load i64, ptr %v41, align 8
  %v43 = getelementptr i64, ptr %"frame", i64 %v42
  %v44 = load ptr, ptr %v43, align 8
  %v45 = getelementptr i64, ptr %"descriptor", i64 3
  %v46 = load i64, ptr %v45, align 8
  %v47 = mul i64 %v46, 3
  %v48 = mul i64 %v46, 5
  %v49 = mul i64 %v46, 8
  %v50 = getelementptr i64, ptr %"descriptor", i64 6
  %v51 = load i64, ptr %v50, align 8
  %v52 = getelementptr i64, ptr %"descriptor", i64 7
  %v53 = load i64, ptr %v52, align 8
  %v54 = mul i64 %v53, 2
  %v55 = mul i64 %v53, 3
  %v56 = mul i64 %v53, 5
  %v57 = udiv i64 %v4, 2
  %v58 = icmp slt i64 0, %v57
  br i1 %v58, label %"loop", label %"done"
loop:
  %v59 = phi i64 [0, %"body"], [%v319, %"done.1.endif"]
  %v60 = mul i64 %v59, %v54
  %v61 = getelementptr i8, ptr %v44, i64 %v60
  %v62 = mul i64 %v59, 2
  %v63 = udiv i64 %v2, 16
  %v64 = icmp slt i64 0, %v63
  br i1 %v64, label %"loop.1", label %"done.1"
done:
  %v321 = mul i64 %v57, 2
  %v322 = mul i64 %v57, %v54
  %v323 = getelementptr i8, ptr %v44, i64 %v322
  %v324 = icmp slt i64 %v321, %v4
  br i1 %v324, label %"loop.7", label %"done.7"
loop.1:
  %v65 = phi i64 [0, %"loop"], [%v199, %"done.3.endif"]
  %v66 = mul i64 %v65, 64
  %v67 = getelementptr i8, ptr %v40, i64 %v66
  %v68 = mul i64 %v65, 16
  %v69 = getelementptr i64, ptr %"descriptor", i64 13
  %v70 = load ptr, ptr %v69, align 8
  %v71 = getelementptr i64, ptr %"frame", i64 8
  %v72 = load i64, ptr %v71, align 8
  %v73 = add i64 %v72, %v68
  %v74 = getelementptr i64, ptr %v70, i64 %v73
  %v75 = load i64, ptr %v74, align 8
  %v76 = and i64 %v6, -4
  %v77 = icmp slt i64 0, %v76
  br i1 %v77, label %"loop.2", label %"done.2"
done.1:
  %v201 = mul i64 %v63, 16
  %v202 = mul i64 %v63, 64
  %v203 = getelementptr i8, ptr %v40, i64 %v202
  %v204 = icmp slt i64 %v201, %v2
  br i1 %v204, label %"done.1.if", label %"done.1.endif"
loop.2:
  %v78 = phi i64 [0, %"loop.1"], [%v138, %"loop.2"]
  %v79 = phi ptr [%v67, %"loop.1"], [%v137, %"loop.2"]
  %v80 = phi ptr [%v61, %"loop.1"], [%v136, %"loop.2"]
  %v81 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v130, %"loop.2"]
  %v82 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v135, %"loop.2"]
  %v83 = call ptr asm  "", "=r,0"(ptr %v79)
  %v84 = call ptr asm  "", "=r,0"(ptr %v80)
  %v85 = getelementptr i8, ptr %v83, i64 %v49
  %v86 = call ptr asm  "", "=r,0"(ptr %v85)
  call void @"llvm.prefetch.p0"(ptr %v86, i32 0, i32 3, i32 1)
  %v87 = load <16 x float>, ptr %v83, align 1
  %v88 = load float, ptr %v84, align 1
  %v89 = insertelement <16 x float> poison, float %v88, i32 0
  %v90 = shufflevector <16 x float> %v89, <16 x float> poison, <16 x i32> zeroinitializer
  %v91 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v87, <16 x float> %v90, <16 x float> %v81)
  %v92 = getelementptr [1 x i8], ptr %v84, i64 %v53
  %v93 = load float, ptr %v92, align 1
  %v94 = insertelement <16 x float> poison, float %v93, i32 0
  %v95 = shufflevector <16 x float> %v94, <16 x float> poison, <16 x i32> zeroinitializer
  %v96 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v87, <16 x float> %v95, <16 x float> %v82)
  %v97 = getelementptr i8, ptr %v84, i64 %v51
  %v98 = getelementptr [1 x i8], ptr %v86, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v98, i32 0, i32 3, i32 1)
  %v99 = getelementptr [1 x i8], ptr %v83, i64 %v46
  %v100 = load <16 x float>, ptr %v99, align 1
  %v101 = load float, ptr %v97, align 1
  %v102 = insertelement <16 x float> poison, float %v101, i32 0
  %v103 = shufflevector <16 x float> %v102, <16 x float> poison, <16 x i32> zeroinitializer
  %v104 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v100, <16 x float> %v103, <16 x float> %v91)
  %v105 = getelementptr [1 x i8], ptr %v97, i64 %v53
  %v106 = load float, ptr %v105, align 1
  %v107 = insertelement <16 x float> poison, float %v106, i32 0
  %v108 = shufflevector <16 x float> %v107, <16 x float> poison, <16 x i32> zeroinitializer
  %v109 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v100, <16 x float> %v108, <16 x float> %v96)
  %v110 = getelementptr i8, ptr %v97, i64 %v51
  %v111 = getelementptr [2 x i8], ptr %v86, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v111, i32 0, i32 3, i32 1)
  %v112 = getelementptr [2 x i8], ptr %v83, i64 %v46
  %v113 = load <16 x float>, ptr %v112, align 1
  %v114 = load float, ptr %v110, align 1
  %v115 = insertelement <16 x float> poison, float %v114, i32 0
  %v116 = shufflevector <16 x float> %v115, <16 x float> poison, <16 x i32> zeroinitializer
  %v117 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v113, <16 x float> %v116, <16 x float> %v104)
  %v118 = getelementptr [1 x i8], ptr %v110, i64 %v53
  %v119 = load float, ptr %v118, align 1
  %v120 = insertelement <16 x float> poison, float %v119, i32 0
  %v121 = shufflevector <16 x float> %v120, <16 x float> poison, <16 x i32> zeroinitializer
  %v122 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v113, <16 x float> %v121, <16 x float> %v109)
  %v123 = getelementptr i8, ptr %v110, i64 %v51
  %v124 = getelementptr [1 x i8], ptr %v86, i64 %v47
  call void @"llvm.prefetch.p0"(ptr %v124, i32 0, i32 3, i32 1)
  %v125 = getelementptr [1 x i8], ptr %v83, i64 %v47
  %v126 = load <16 x float>, ptr %v125, align 1
  %v127 = load float, ptr %v123, align 1
  %v128 = insertelement <16 x float> poison, float %v127, i32 0
  %v129 = shufflevector <16 x float> %v128, <16 x float> poison, <16 x i32> zeroinitializer
  %v130 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v126, <16 x float> %v129, <16 x float> %v117)
  %v131 = getelementptr [1 x i8], ptr %v123, i64 %v53
  %v132 = load float, ptr %v131, align 1
  %v133 = insertelement <16 x float> poison, float %v132, i32 0
  %v134 = shufflevector <16 x float> %v133, <16 x float> poison, <16 x i32> zeroinitializer
  %v135 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v126, <16 x float> %v134, <16 x float> %v122)
  %v136 = getelementptr i8, ptr %v123, i64 %v51
  %v137 = getelementptr [4 x i8], ptr %v83, i64 %v46
  %v138 = add i64 %v78, 4
  %v139 = icmp slt i64 %v138, %v76
  br i1 %v139, label %"loop.2", label %"done.2"
done.2:
  %v140 = phi ptr [%v67, %"loop.1"], [%v137, %"loop.2"]
  %v141 = phi ptr [%v61, %"loop.1"], [%v136, %"loop.2"]
  %v142 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v130, %"loop.2"]
  %v143 = phi <16 x float> [splat (float              0x0), %"loop.1"], [%v135, %"loop.2"]
  %v144 = icmp slt i64 %v76, %v6
  br i1 %v144, label %"loop.3", label %"done.3"
loop.3:
  %v145 = phi i64 [%v76, %"done.2"], [%v166, %"loop.3"]
  %v146 = phi ptr [%v140, %"done.2"], [%v165, %"loop.3"]
  %v147 = phi ptr [%v141, %"done.2"], [%v164, %"loop.3"]
  %v148 = phi <16 x float> [%v142, %"done.2"], [%v158, %"loop.3"]
  %v149 = phi <16 x float> [%v143, %"done.2"], [%v163, %"loop.3"]
  %v150 = call ptr asm  "", "=r,0"(ptr %v146)
  %v151 = call ptr asm  "", "=r,0"(ptr %v147)
  %v152 = getelementptr i8, ptr %v150, i64 %v49
  %v153 = call ptr asm  "", "=r,0"(ptr %v152)
  call void @"llvm.prefetch.p0"(ptr %v153, i32 0, i32 3, i32 1)
  %v154 = load <16 x float>, ptr %v150, align 1
  %v155 = load float, ptr %v151, align 1
  %v156 = insertelement <16 x float> poison, float %v155, i32 0
  %v157 = shufflevector <16 x float> %v156, <16 x float> poison, <16 x i32> zeroinitializer
  %v158 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v154, <16 x float> %v157, <16 x float> %v148)
  %v159 = getelementptr [1 x i8], ptr %v151, i64 %v53
  %v160 = load float, ptr %v159, align 1
  %v161 = insertelement <16 x float> poison, float %v160, i32 0
  %v162 = shufflevector <16 x float> %v161, <16 x float> poison, <16 x i32> zeroinitializer
  %v163 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v154, <16 x float> %v162, <16 x float> %v149)
  %v164 = getelementptr i8, ptr %v151, i64 %v51
  %v165 = getelementptr [1 x i8], ptr %v150, i64 %v46
  %v166 = add i64 %v145, 1
  %v167 = icmp slt i64 %v166, %v6
  br i1 %v167, label %"loop.3", label %"done.3"
done.3:
  %v168 = phi ptr [%v140, %"done.2"], [%v165, %"loop.3"]
  %v169 = phi ptr [%v141, %"done.2"], [%v164, %"loop.3"]
  %v170 = phi <16 x float> [%v142, %"done.2"], [%v158, %"loop.3"]
  %v171 = phi <16 x float> [%v143, %"done.2"], [%v163, %"loop.3"]
  %v172 = and i1 %v31, %v35
  %v173 = or i1 %v34, %v172
  br i1 %v173, label %"done.3.if", label %"done.3.else"
done.3.if:
  store <16 x float> %v170, ptr %v36, align 1
  %v174 = getelementptr i8, ptr %v36, i64 64
  store <16 x float> %v171, ptr %v174, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v68, i64 16, i64 %v62, i64 2)
  br label %"done.3.endif"
done.3.else:
  br i1 %v31, label %"done.3.else.if", label %"done.3.else.else"
done.3.endif:
  %v199 = add i64 %v65, 1
  %v200 = icmp slt i64 %v199, %v63
  br i1 %v200, label %"loop.1", label %"done.1"
done.3.else.if:
  %v175 = mul i64 %v62, 8
  %v176 = getelementptr i8, ptr %v21, i64 %v175
  %v177 = getelementptr i64, ptr %v176, i64 0
  %v178 = load i64, ptr %v177, align 8
  %v179 = getelementptr i8, ptr %v15, i64 %v178
  %v180 = getelementptr i8, ptr %v179, i64 %v75
  store <16 x float> %v170, ptr %v180, align 1
  %v181 = getelementptr i64, ptr %v176, i64 1
  %v182 = load i64, ptr %v181, align 8
  %v183 = getelementptr i8, ptr %v15, i64 %v182
  %v184 = getelementptr i8, ptr %v183, i64 %v75
  store <16 x float> %v171, ptr %v184, align 1
  br label %"done.3.else.endif"
done.3.else.else:
  %v185 = mul i64 %v62, 8
  %v186 = getelementptr i8, ptr %v21, i64 %v185
  %v187 = getelementptr i64, ptr %v186, i64 0
  %v188 = load i64, ptr %v187, align 8
  %v189 = getelementptr i8, ptr %v15, i64 %v188
  %v190 = getelementptr i8, ptr %v189, i64 %v75
  %v191 = load <16 x float>, ptr %v190, align 1
  %v192 = fadd <16 x float> %v191, %v170
  store <16 x float> %v192, ptr %v190, align 1
  %v193 = getelementptr i64, ptr %v186, i64 1
  %v194 = load i64, ptr %v193, align 8
  %v195 = getelementptr i8, ptr %v15, i64 %v194
  %v196 = getelementptr i8, ptr %v195, i64 %v75
  %v197 = load <16 x float>, ptr %v196, align 1
  %v198 = fadd <16 x float> %v197, %v171
  store <16 x float> %v198, ptr %v196, align 1
  br label %"done.3.else.endif"
done.3.else.endif:
  br label %"done.3.endif"
done.1.if:
  %v205 = sub i64 %v2, %v201
  %v206 = icmp slt i64 0, %v205
  br i1 %v206, label %"loop.4", label %"done.4"
done.1.endif:
  %v319 = add i64 %v59, 1
  %v320 = icmp slt i64 %v319, %v57
  br i1 %v320, label %"loop", label %"done"
loop.4:
  %v207 = phi i64 [0, %"done.1.if"], [%v317, %"done.6"]
  %v208 = sub i64 %v205, %v207
  %v209 = icmp slt i64 16, %v208
  %v210 = select i1 %v209, i64 16, i64 %v208
  %v211 = trunc i64 %v210 to i32
  %v212 = insertelement <16 x i32> poison, i32 %v211, i32 0
  %v213 = shufflevector <16 x i32> %v212, <16 x i32> poison, <16 x i32> zeroinitializer
  %v214 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v213
  %v215 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v214)
  %v216 = mul i64 %v207, 4
  %v217 = getelementptr i8, ptr %v203, i64 %v216
  %v218 = and i64 %v6, -4
  %v219 = icmp slt i64 0, %v218
  br i1 %v219, label %"loop.5", label %"done.5"
done.4:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v201, i64 %v205, i64 %v62, i64 2)
  br label %"done.1.endif"
loop.5:
  %v220 = phi i64 [0, %"loop.4"], [%v280, %"loop.5"]
  %v221 = phi ptr [%v217, %"loop.4"], [%v279, %"loop.5"]
  %v222 = phi ptr [%v61, %"loop.4"], [%v278, %"loop.5"]
  %v223 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v272, %"loop.5"]
  %v224 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v277, %"loop.5"]
  %v225 = call ptr asm  "", "=r,0"(ptr %v221)
  %v226 = call ptr asm  "", "=r,0"(ptr %v222)
  %v227 = getelementptr i8, ptr %v225, i64 %v49
  %v228 = call ptr asm  "", "=r,0"(ptr %v227)
  call void @"llvm.prefetch.p0"(ptr %v228, i32 0, i32 3, i32 1)
  %v229 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v225, i32 1, <16 x i1> %v215, <16 x float> zeroinitializer)
  %v230 = load float, ptr %v226, align 1
  %v231 = insertelement <16 x float> poison, float %v230, i32 0
  %v232 = shufflevector <16 x float> %v231, <16 x float> poison, <16 x i32> zeroinitializer
  %v233 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v229, <16 x float> %v232, <16 x float> %v223)
  %v234 = getelementptr [1 x i8], ptr %v226, i64 %v53
  %v235 = load float, ptr %v234, align 1
  %v236 = insertelement <16 x float> poison, float %v235, i32 0
  %v237 = shufflevector <16 x float> %v236, <16 x float> poison, <16 x i32> zeroinitializer
  %v238 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v229, <16 x float> %v237, <16 x float> %v224)
  %v239 = getelementptr i8, ptr %v226, i64 %v51
  %v240 = getelementptr [1 x i8], ptr %v228, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v240, i32 0, i32 3, i32 1)
  %v241 = getelementptr [1 x i8], ptr %v225, i64 %v46
  %v242 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v241, i32 1, <16 x i1> %v215, <16 x float> zeroinitializer)
  %v243 = load float, ptr %v239, align 1
  %v244 = insertelement <16 x float> poison, float %v243, i32 0
  %v245 = shufflevector <16 x float> %v244, <16 x float> poison, <16 x i32> zeroinitializer
  %v246 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v242, <16 x float> %v245, <16 x float> %v233)
  %v247 = getelementptr [1 x i8], ptr %v239, i64 %v53
  %v248 = load float, ptr %v247, align 1
  %v249 = insertelement <16 x float> poison, float %v248, i32 0
  %v250 = shufflevector <16 x float> %v249, <16 x float> poison, <16 x i32> zeroinitializer
  %v251 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v242, <16 x float> %v250, <16 x float> %v238)
  %v252 = getelementptr i8, ptr %v239, i64 %v51
  %v253 = getelementptr [2 x i8], ptr %v228, i64 %v46
  call void @"llvm.prefetch.p0"(ptr %v253, i32 0, i32 3, i32 1)
  %v254 = getelementptr [2 x i8], ptr %v225, i64 %v46
  %v255 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v254, i32 1, <16 x i1> %v215, <16 x float> zeroinitializer)
  %v256 = load float, ptr %v252, align 1
  %v257 = insertelement <16 x float> poison, float %v256, i32 0
  %v258 = shufflevector <16 x float> %v257, <16 x float> poison, <16 x i32> zeroinitializer
  %v259 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v255, <16 x float> %v258, <16 x float> %v246)
  %v260 = getelementptr [1 x i8], ptr %v252, i64 %v53
  %v261 = load float, ptr %v260, align 1
  %v262 = insertelement <16 x float> poison, float %v261, i32 0
  %v263 = shufflevector <16 x float> %v262, <16 x float> poison, <16 x i32> zeroinitializer
  %v264 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v255, <16 x float> %v263, <16 x float> %v251)
  %v265 = getelementptr i8, ptr %v252, i64 %v51
  %v266 = getelementptr [1 x i8], ptr %v228, i64 %v47
  call void @"llvm.prefetch.p0"(ptr %v266, i32 0, i32 3, i32 1)
  %v267 = getelementptr [1 x i8], ptr %v225, i64 %v47
  %v268 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v267, i32 1, <16 x i1> %v215, <16 x float> zeroinitializer)
  %v269 = load float, ptr %v265, align 1
  %v270 = insertelement <16 x float> poison, float %v269, i32 0
  %v271 = shufflevector <16 x float> %v270, <16 x float> poison, <16 x i32> zeroinitializer
  %v272 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v268, <16 x float> %v271, <16 x float> %v259)
  %v273 = getelementptr [1 x i8], ptr %v265, i64 %v53
  %v274 = load float, ptr %v273, align 1
  %v275 = insertelement <16 x float> poison, float %v274, i32 0
  %v276 = shufflevector <16 x float> %v275, <16 x float> poison, <16 x i32> zeroinitializer
  %v277 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v268, <16 x float> %v276, <16 x float> %v264)
  %v278 = getelementptr i8, ptr %v265, i64 %v51
  %v279 = getelementptr [4 x i8], ptr %v225, i64 %v46
  %v280 = add i64 %v220, 4
  %v281 = icmp slt i64 %v280, %v218
  br i1 %v281, label %"loop.5", label %"done.5"
done.5:
  %v282 = phi ptr [%v217, %"loop.4"], [%v279, %"loop.5"]
  %v283 = phi ptr [%v61, %"loop.4"], [%v278, %"loop.5"]
  %v284 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v272, %"loop.5"]
  %v285 = phi <16 x float> [splat (float              0x0), %"loop.4"], [%v277, %"loop.5"]
  %v286 = icmp slt i64 %v218, %v6
  br i1 %v286, label %"loop.6", label %"done.6"
loop.6:
  %v287 = phi i64 [%v218, %"done.5"], [%v308, %"loop.6"]
  %v288 = phi ptr [%v282, %"done.5"], [%v307, %"loop.6"]
  %v289 = phi ptr [%v283, %"done.5"], [%v306, %"loop.6"]
  %v290 = phi <16 x float> [%v284, %"done.5"], [%v300, %"loop.6"]
  %v291 = phi <16 x float> [%v285, %"done.5"], [%v305, %"loop.6"]
  %v292 = call ptr asm  "", "=r,0"(ptr %v288)
  %v293 = call ptr asm  "", "=r,0"(ptr %v289)
  %v294 = getelementptr i8, ptr %v292, i64 %v49
  %v295 = call ptr asm  "", "=r,0"(ptr %v294)
  call void @"llvm.prefetch.p0"(ptr %v295, i32 0, i32 3, i32 1)
  %v296 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v292, i32 1, <16 x i1> %v215, <16 x float> zeroinitializer)
  %v297 = load float, ptr %v293, align 1
  %v298 = insertelement <16 x float> poison, float %v297, i32 0
  %v299 = shufflevector <16 x float> %v298, <16 x float> poison, <16 x i32> zeroinitializer
  %v300 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v296, <16 x float> %v299, <16 x float> %v290)
  %v301 = getelementptr [1 x i8], ptr %v293, i64 %v53
  %v302 = load float, ptr %v301, align 1
  %v303 = insertelement <16 x float> poison, float %v302, i32 0
  %v304 = shufflevector <16 x float> %v303, <16 x float> poison, <16 x i32> zeroinitializer
  %v305 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v296, <16 x float> %v304, <16 x float> %v291)
  %v306 = getelementptr i8, ptr %v293, i64 %v51
  %v307 = getelementptr [1 x i8], ptr %v292, i64 %v46
  %v308 = add i64 %v287, 1
  %v309 = icmp slt i64 %v308, %v6
  br i1 %v309, label %"loop.6", label %"done.6"
done.6:
  %v310 = phi ptr [%v282, %"done.5"], [%v307, %"loop.6"]
  %v311 = phi ptr [%v283, %"done.5"], [%v306, %"loop.6"]
  %v312 = phi <16 x float> [%v284, %"done.5"], [%v300, %"loop.6"]
  %v313 = phi <16 x float> [%v285, %"done.5"], [%v305, %"loop.6"]
  %v314 = mul i64 %v207, 4
  %v315 = getelementptr i8, ptr %v36, i64 %v314
  store <16 x float> %v312, ptr %v315, align 1
  %v316 = getelementptr i8, ptr %v315, i64 64
  store <16 x float> %v313, ptr %v316, align 1
  %v317 = add i64 %v207, 16
  %v318 = icmp slt i64 %v317, %v205
  br i1 %v318, label %"loop.4", label %"done.4"
loop.7:
  %v325 = phi i64 [%v321, %"done"], [%v414, %"done.8.endif"]
  %v326 = sub i64 %v4, %v325
  %v327 = icmp slt i64 1, %v326
  %v328 = select i1 %v327, i64 1, i64 %v326
  %v329 = sub i64 %v325, %v321
  %v330 = mul i64 %v329, %v53
  %v331 = getelementptr i8, ptr %v323, i64 %v330
  %v332 = sub i64 %v328, 1
  %v333 = icmp slt i64 0, %v332
  %v334 = select i1 %v333, i64 0, i64 %v332
  %v335 = mul i64 %v334, %v53
  %v336 = udiv i64 %v2, 16
  %v337 = icmp slt i64 0, %v336
  br i1 %v337, label %"loop.8", label %"done.8"
done.7:
  ret void
loop.8:
  %v338 = phi i64 [0, %"loop.7"], [%v375, %"done.9.endif"]
  %v339 = mul i64 %v338, 64
  %v340 = getelementptr i8, ptr %v40, i64 %v339
  %v341 = mul i64 %v338, 16
  %v342 = getelementptr i64, ptr %"descriptor", i64 13
  %v343 = load ptr, ptr %v342, align 8
  %v344 = getelementptr i64, ptr %"frame", i64 8
  %v345 = load i64, ptr %v344, align 8
  %v346 = add i64 %v345, %v341
  %v347 = getelementptr i64, ptr %v343, i64 %v346
  %v348 = load i64, ptr %v347, align 8
  br label %"repeat"
done.8:
  %v377 = mul i64 %v336, 16
  %v378 = mul i64 %v336, 64
  %v379 = getelementptr i8, ptr %v40, i64 %v378
  %v380 = icmp slt i64 %v377, %v2
  br i1 %v380, label %"done.8.if", label %"done.8.endif"
repeat:
  %v349 = phi i64 [0, %"loop.8"], [%v363, %"repeat"]
  %v350 = phi ptr [%v340, %"loop.8"], [%v362, %"repeat"]
  %v351 = phi ptr [%v331, %"loop.8"], [%v361, %"repeat"]
  %v352 = phi <16 x float> [splat (float              0x0), %"loop.8"], [%v360, %"repeat"]
  %v353 = call ptr asm  "", "=r,0"(ptr %v350)
  %v354 = call ptr asm  "", "=r,0"(ptr %v351)
  %v355 = load <16 x float>, ptr %v353, align 1
  %v356 = getelementptr i8, ptr %v354, i64 %v335
  %v357 = load float, ptr %v356, align 1
  %v358 = insertelement <16 x float> poison, float %v357, i32 0
  %v359 = shufflevector <16 x float> %v358, <16 x float> poison, <16 x i32> zeroinitializer
  %v360 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v355, <16 x float> %v359, <16 x float> %v352)
  %v361 = getelementptr i8, ptr %v354, i64 %v51
  %v362 = getelementptr [1 x i8], ptr %v353, i64 %v46
  %v363 = add i64 %v349, 1
  %v364 = icmp slt i64 %v363, %v6
  br i1 %v364, label %"repeat", label %"done.9"
done.9:
  %v365 = and i1 %v31, %v35
  %v366 = or i1 %v34, %v365
  %v367 = xor i1 %v31, -1
  %v368 = or i1 %v366, %v367
  br i1 %v368, label %"done.9.if", label %"done.9.else"
done.9.if:
  store <16 x float> %v360, ptr %v36, align 1
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v341, i64 16, i64 %v325, i64 %v328)
  br label %"done.9.endif"
done.9.else:
  %v369 = mul i64 %v325, 8
  %v370 = getelementptr i8, ptr %v21, i64 %v369
  %v371 = getelementptr i64, ptr %v370, i64 0
  %v372 = load i64, ptr %v371, align 8
  %v373 = getelementptr i8, ptr %v15, i64 %v372
  %v374 = getelementptr i8, ptr %v373, i64 %v348
  store <16 x float> %v360, ptr %v374, align 1
  br label %"done.9.endif"
done.9.endif:
  %v375 = add i64 %v338, 1
  %v376 = icmp slt i64 %v375, %v336
  br i1 %v376, label %"loop.8", label %"done.8"
done.8.if:
  %v381 = sub i64 %v2, %v377
  %v382 = icmp slt i64 0, %v381
  br i1 %v382, label %"loop.9", label %"done.10"
done.8.endif:
  %v414 = add i64 %v325, 1
  %v415 = icmp slt i64 %v414, %v4
  br i1 %v415, label %"loop.7", label %"done.7"
loop.9:
  %v383 = phi i64 [0, %"done.8.if"], [%v412, %"done.11"]
  %v384 = sub i64 %v381, %v383
  %v385 = icmp slt i64 16, %v384
  %v386 = select i1 %v385, i64 16, i64 %v384
  %v387 = trunc i64 %v386 to i32
  %v388 = insertelement <16 x i32> poison, i32 %v387, i32 0
  %v389 = shufflevector <16 x i32> %v388, <16 x i32> poison, <16 x i32> zeroinitializer
  %v390 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v389
  %v391 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v390)
  %v392 = mul i64 %v383, 4
  %v393 = getelementptr i8, ptr %v379, i64 %v392
  br label %"repeat.1"
done.10:
  call void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %v36, i64 %v377, i64 %v381, i64 %v325, i64 %v328)
  br label %"done.8.endif"
repeat.1:
  %v394 = phi i64 [0, %"loop.9"], [%v408, %"repeat.1"]
  %v395 = phi ptr [%v393, %"loop.9"], [%v407, %"repeat.1"]
  %v396 = phi ptr [%v331, %"loop.9"], [%v406, %"repeat.1"]
  %v397 = phi <16 x float> [splat (float              0x0), %"loop.9"], [%v405, %"repeat.1"]
  %v398 = call ptr asm  "", "=r,0"(ptr %v395)
  %v399 = call ptr asm  "", "=r,0"(ptr %v396)
  %v400 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v398, i32 1, <16 x i1> %v391, <16 x float> zeroinitializer)
  %v401 = getelementptr i8, ptr %v399, i64 %v335
  %v402 = load float, ptr %v401, align 1
  %v403 = insertelement <16 x float> poison, float %v402, i32 0
  %v404 = shufflevector <16 x float> %v403, <16 x float> poison, <16 x i32> zeroinitializer
  %v405 = call <16 x float> @"llvm.fma.v16f32"(<16 x float> %v400, <16 x float> %v404, <16 x float> %v397)
  %v406 = getelementptr i8, ptr %v399, i64 %v51
  %v407 = getelementptr [1 x i8], ptr %v398, i64 %v46
  %v408 = add i64 %v394, 1
  %v409 = icmp slt i64 %v408, %v6
  br i1 %v409, label %"repeat.1", label %"done.11"
done.11:
  %v410 = mul i64 %v383, 4
  %v411 = getelementptr i8, ptr %v36, i64 %v410
  store <16 x float> %v405, ptr %v411, align 1
  %v412 = add i64 %v383, 16
  %v413 = icmp slt i64 %v412, %v381
  br i1 %v413, label %"loop.9", label %"done.10"
}

define internal void @"gemm_float32_1x2_direct_direct_columns_flush"(ptr %"descriptor", ptr %"frame", ptr %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7")
{
entry:
  br label %"body"
body:
  %v1 = getelementptr i64, ptr %"frame", i64 25
  %v2 = load i64, ptr %v1, align 8
  %v3 = icmp ne i64 %v2, 0
  %v4 = getelementptr i64, ptr %"descriptor", i64 16
  %v5 = load i64, ptr %v4, align 8
  %v6 = getelementptr i64, ptr %"frame", i64 %v5
  %v7 = load ptr, ptr %v6, align 8
  %v8 = getelementptr i64, ptr %"frame", i64 9
  %v9 = load i64, ptr %v8, align 8
  %v10 = getelementptr i64, ptr %"descriptor", i64 9
  %v11 = load ptr, ptr %v10, align 8
  %v12 = mul i64 %v9, 8
  %v13 = getelementptr i8, ptr %v11, i64 %v12
  %v14 = getelementptr i64, ptr %"frame", i64 26
  %v15 = load ptr, ptr %v14, align 8
  %v16 = getelementptr i64, ptr %v15, i64 8
  %v17 = load i64, ptr %v16, align 8
  %v18 = getelementptr i64, ptr %"frame", i64 24
  %v19 = load i64, ptr %v18, align 8
  %v20 = icmp ne i64 %v19, 0
  %v21 = icmp eq i64 %v17, 2
  %v22 = xor i1 %v21, -1
  %v23 = and i1 %v20, %v22
  %v24 = getelementptr i64, ptr %v15, i64 9
  %v25 = load i64, ptr %v24, align 8
  %v26 = icmp ne i64 %v25, 0
  %v27 = icmp ne i64 %v17, 0
  %v28 = mul i64 %".6", 8
  %v29 = getelementptr i8, ptr %v13, i64 %v28
  %v30 = and i1 %v23, %v27
  %v31 = or i1 %v26, %v30
  %v32 = xor i1 %v23, -1
  %v33 = or i1 %v32, %v27
  %v34 = getelementptr i64, ptr %"descriptor", i64 13
  %v35 = load ptr, ptr %v34, align 8
  %v36 = getelementptr i64, ptr %"frame", i64 8
  %v37 = load i64, ptr %v36, align 8
  %v38 = add i64 %v37, %".4"
  %v39 = getelementptr i64, ptr %v35, i64 %v38
  %v40 = load i64, ptr %v39, align 8
  %v41 = icmp slt i64 0, %".5"
  br i1 %v41, label %"loop", label %"done"
loop:
  %v42 = phi i64 [0, %"body"], [%v102, %"loop.endif"]
  %v43 = sub i64 %".5", %v42
  %v44 = icmp slt i64 16, %v43
  %v45 = select i1 %v44, i64 16, i64 %v43
  %v46 = trunc i64 %v45 to i32
  %v47 = insertelement <16 x i32> poison, i32 %v46, i32 0
  %v48 = shufflevector <16 x i32> %v47, <16 x i32> poison, <16 x i32> zeroinitializer
  %v49 = icmp ult <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>, %v48
  %v50 = call <16 x i1> asm  "", "=k,0"(<16 x i1> %v49)
  %v51 = mul i64 %v42, 4
  %v52 = getelementptr i8, ptr %".3", i64 %v51
  %v53 = mul i64 %v42, 4
  %v54 = add i64 %v40, %v53
  %v55 = getelementptr i8, ptr %v7, i64 %v54
  br i1 %v31, label %"loop.if", label %"loop.else"
done:
  ret void
loop.if:
  %v56 = icmp slt i64 0, %".7"
  br i1 %v56, label %"loop.1", label %"done.1"
loop.else:
  br i1 %v23, label %"loop.else.if", label %"loop.else.else"
loop.endif:
  %v102 = add i64 %v42, 16
  %v103 = icmp slt i64 %v102, %".5"
  br i1 %v103, label %"loop", label %"done"
loop.1:
  %v57 = phi i64 [0, %"loop.if"], [%v78, %"loop.1.endif.endif"]
  %v58 = mul i64 %v57, 64
  %v59 = getelementptr i8, ptr %v52, i64 %v58
  %v60 = load <16 x float>, ptr %v59, align 1
  %v61 = getelementptr i64, ptr %v29, i64 %v57
  %v62 = load i64, ptr %v61, align 8
  %v63 = getelementptr i8, ptr %v55, i64 %v62
  %v64 = load float, ptr %v15, align 1
  %v65 = insertelement <16 x float> poison, float %v64, i32 0
  %v66 = shufflevector <16 x float> %v65, <16 x float> poison, <16 x i32> zeroinitializer
  %v67 = getelementptr i8, ptr %v15, i64 32
  %v68 = load float, ptr %v67, align 1
  %v69 = insertelement <16 x float> poison, float %v68, i32 0
  %v70 = shufflevector <16 x float> %v69, <16 x float> poison, <16 x i32> zeroinitializer
  br i1 %v26, label %"loop.1.if", label %"loop.1.else"
done.1:
  br label %"loop.endif"
loop.1.if:
  %v71 = fmul <16 x float> %v66, %v60
  br label %"loop.1.endif"
loop.1.else:
  br label %"loop.1.endif"
loop.1.endif:
  %v72 = phi <16 x float> [%v71, %"loop.1.if"], [%v60, %"loop.1.else"]
  br i1 %v33, label %"loop.1.endif.if", label %"loop.1.endif.else"
loop.1.endif.if:
  %v73 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v63, i32 1, <16 x i1> %v50, <16 x float> zeroinitializer)
  br i1 %v23, label %"loop.1.endif.if.if", label %"loop.1.endif.if.else"
loop.1.endif.else:
  br label %"loop.1.endif.endif"
loop.1.endif.endif:
  %v77 = phi <16 x float> [%v76, %"loop.1.endif.if.endif"], [%v72, %"loop.1.endif.else"]
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v77, ptr %v63, i32 1, <16 x i1> %v50)
  %v78 = add i64 %v57, 1
  %v79 = icmp slt i64 %v78, %".7"
  br i1 %v79, label %"loop.1", label %"done.1"
loop.1.endif.if.if:
  %v74 = fmul <16 x float> %v70, %v73
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.else:
  br label %"loop.1.endif.if.endif"
loop.1.endif.if.endif:
  %v75 = phi <16 x float> [%v74, %"loop.1.endif.if.if"], [%v73, %"loop.1.endif.if.else"]
  %v76 = fadd <16 x float> %v75, %v72
  br label %"loop.1.endif.endif"
loop.else.if:
  %v80 = icmp slt i64 0, %".7"
  br i1 %v80, label %"loop.2", label %"done.2"
loop.else.else:
  %v90 = icmp slt i64 0, %".7"
  br i1 %v90, label %"loop.3", label %"done.3"
loop.else.endif:
  br label %"loop.endif"
loop.2:
  %v81 = phi i64 [0, %"loop.else.if"], [%v88, %"loop.2"]
  %v82 = mul i64 %v81, 64
  %v83 = getelementptr i8, ptr %v52, i64 %v82
  %v84 = load <16 x float>, ptr %v83, align 1
  %v85 = getelementptr i64, ptr %v29, i64 %v81
  %v86 = load i64, ptr %v85, align 8
  %v87 = getelementptr i8, ptr %v55, i64 %v86
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v84, ptr %v87, i32 1, <16 x i1> %v50)
  %v88 = add i64 %v81, 1
  %v89 = icmp slt i64 %v88, %".7"
  br i1 %v89, label %"loop.2", label %"done.2"
done.2:
  br label %"loop.else.endif"
loop.3:
  %v91 = phi i64 [0, %"loop.else.else"], [%v100, %"loop.3"]
  %v92 = mul i64 %v91, 64
  %v93 = getelementptr i8, ptr %v52, i64 %v92
  %v94 = load <16 x float>, ptr %v93, align 1
  %v95 = getelementptr i64, ptr %v29, i64 %v91
  %v96 = load i64, ptr %v95, align 8
  %v97 = getelementptr i8, ptr %v55, i64 %v96
  %v98 = call <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %v97, i32 1, <16 x i1> %v50, <16 x float> zeroinitializer)
  %v99 = fadd <16 x float> %v98, %v94
  call void @"llvm.masked.store.v16f32.p0"(<16 x float> %v99, ptr %v97, i32 1, <16 x i1> %v50)
  %v100 = add i64 %v91, 1
  %v101 = icmp slt i64 %v100, %".7"
  br i1 %v101, label %"loop.3", label %"done.3"
done.3:
  br label %"loop.else.endif"
}

declare <16 x float> @"llvm.masked.load.v16f32.p0"(ptr %".1", i32 %".2", <16 x i1> %".3", <16 x float> %".4")

declare void @"llvm.masked.store.v16f32.p0"(<16 x float> %".1", ptr %".2", i32 %".3", <16 x i1> %".4")

declare void @"llvm.prefetch.p0"(ptr %".1", i32 %".2", i32 %".3", i32 %".4")

declare <16 x float> @"llvm.fma.v16f32"(<16 x float> %".1", <16 x float> %".2", <16 x float> %".3")
